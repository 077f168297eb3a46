"""The words of the generated sample documents; ``make_examples.py`` gives them their form."""

from __future__ import annotations

VISITORS = """
# Visitors: how to receive them

This page is for everybody who invites customers, suppliers, applicants or a school class. It holds
for both offices; where they differ, the page of the office has the last word.

## Before the visit

Enter the visit in the calendar at least one day ahead, with the full name and the company of each
guest. The front desk prepares a badge and, if you tick the box, a parking place. Groups of more
than eight people need a second host. Competitors are welcome in the training room and the kitchen,
but not in the workshop.

## On arrival

Meet your guests at the front desk and stay with them. They sign the visitor list, which is
destroyed after six weeks, and receive a badge with a green stripe. Someone with a green stripe who
walks about alone is not to be scolded but to be accompanied.

## Internet for guests

Guests may use the visitor Wi-Fi. Its password changes every 30 days and stands on the card that the
front desk hands out together with the badge. Do not lend your own laptop, and do not connect a
guest's computer by cable.

## In the workshop

Closed shoes are required, and hair that is longer than the shoulders is tied back. Safety glasses
hang beside the door.

| Area | Glasses | Photographs | Children |
| --- | --- | --- | --- |
| Electronics lab | no | only of finished devices | from 10 years |
| Calibration tank | no | yes | from 12 years, with a vest |
| Metal workshop | yes | yes | not allowed |
| Warehouse | no | no | from 10 years |

## Presents

Guests may be given the yellow drinking bottle or the notebook from the cupboard in the kitchen.
Presents to officials are not allowed, not even the bottle: most of our customers work for an
authority, and a pleasant gesture can cost them their job. If a guest brings something worth more
than 25 euros, thank them and hand it to the people team, who raffles such things off in December.

## Leaving

Walk your guests back to the front desk, collect the badges and cross them off the list. When an
alarm is raised the list tells the fire brigade how many people to look for.
"""

AFTER_SALES = """
# 售后服务流程

本流程适用于通过岚汀仪器购买的全部设备。售后服务中心（以下简称“售后中心”）设在上海郊区的芦汀镇，
与销售处不在同一地点，请不要把设备寄到白鹭大厦。

## 联系方式

售后中心的电话是 021-5550-0182，工作日上午八点半到下午五点半有人接听。其他时间请留言，值班工程师会在
第二天上午十点以前回电。也可以在平台上填写返修单，两种方式效果相同。

## 返修步骤

- 客户提出申请，写明序列号、故障现象和最近一次正常读数的时间。
- 售后中心在两个工作日内发出返修编号。
- 客户把设备寄到芦汀镇，包装箱外写清返修编号。
- 工程师在收到设备后五个工作日内完成检测，并出具检测报告。
- 保修期内的故障免费处理；保修期外先报价，客户确认以后再维修。

## 检测费用

保修期内不收检测费。保修期外的检测费按下表收取，客户同意维修的，检测费抵扣维修费。

| 设备 | 检测费（元） | 通常维修周期 |
| --- | --- | --- |
| Dipper水位计 | 600 | 十个工作日 |
| Plover探头 | 260 | 只换不修，三个工作日 |
| 太阳能供电箱 | 180 | 七个工作日 |

## 备用机

购买了守护计划的客户可以申请备用机。备用机在申请当天寄出，使用期到原设备修好以后第七天为止。没有购买守护计划
的客户可以按天租用，租金为每天四十五元，押金两千元。

## 校准服务

售后中心有一个两米深的水槽，可以为Plover提供四点校准并出具证书，费用为三百二十元，当天可取。Dipper的校准需要
寄往柏林，往返大约六周，建议安排在枯水期。

## 投诉

客户对处理结果不满意时，可以直接写信给销售处负责人，信件在五个工作日内答复。每一件投诉都要登记，并在每月的
质量会议上讨论。
"""

DIPPER_INSTALLATION = """
# Dipper installation manual

This manual takes you from the closed box to the first reading. Plan three hours and two people. You
need a drill with an 8 millimetre bit, a 13 millimetre spanner, a spirit level and a telephone.

## Safety first

The gauge hangs above water, often beside traffic. Close the work area, secure every tool with a
cord, and never lean over a railing without a harness. Switch off the supply before you open the
terminal box. The radar is weaker than a mobile telephone and harmless to people, fish and birds.

## What is in the box

| Part | Number | Remark |
| --- | --- | --- |
| Dipper gauge | 1 | Serial number on the silver label and on the box |
| Wall bracket with swivel | 1 | Stainless steel, tilts by up to 10 degrees |
| Anchor bolts M8 | 4 | For concrete; use the clamp set for steel girders |
| Cable, 5 metres, six wires | 1 | Can be extended to 60 metres |
| Terminal box | 1 | With gland and a bag of drying agent |
| Battery pack | 1 | Not connected on delivery |

If anything is missing, take a photograph of the open box and write to customer support before you
begin. Keep the box: it is the only one in which a gauge survives being sent back.

---

## Choosing the place

A good place decides about the quality of the readings more than any setting does. Look for smooth
water that does not fall dry, and stay away from the inside of bends, where sand settles.

- Hang the gauge at least half a metre above the highest flood that you know of.
- Keep one metre of distance from pillars, walls and hanging ropes. The beam opens by eight degrees,
so that at 10 metres of height it lights a circle of 1.4 metres.
- Avoid places directly below gutters and drains: a jet of water looks like a higher level.
- Check that your telephone has reception at the spot where the gauge will hang.

## Mounting the bracket

Hold the bracket against the wall and mark the four holes with the help of the spirit level. Drill
70 millimetres deep, blow out the dust, and set the bolts. Tighten them with 20 newton metres, no
more, or the concrete splits. On steel girders use the clamp set instead and leave the bolts in the
bag.

Hang the gauge into the swivel from above, push the safety pin through until it clicks, and only
then remove the cord. The radar window must point straight down: turn the swivel until the bubble in
the lid stands in the ring. A gauge that leans by three degrees measures about a tenth of one per
cent too much.

---

## Connecting the wires

With the battery pack and the built-in modem nothing has to be wired: put in the pack, close the
lid, and go on to the next page. The cable is needed for a supply from outside, or for a data
logger. Connect it in the order of the table, and the supply last of all.

| Terminal | Colour | Signal | Remark |
| --- | --- | --- | --- |
| 1 | Red | Supply, 9 to 28 volts | Fuse of one ampere in the line |
| 2 | Black | Ground | Connect to the earth of the logger as well |
| 3 | Yellow | SDI-12 data | At most 60 metres of cable |
| 4 | White | RS-485 A | Swap with terminal 5 if there is no answer |
| 5 | Brown | RS-485 B | 120 ohms at the end of the line |
| 6 | Green | Alarm output | Closes while an alarm is on, 50 milliamperes |

Tighten the gland by hand and then by half a turn with the spanner. Put the bag of drying agent into
the terminal box after you have opened it; a new bag is blue, a used one pink. Lead the cable away in
a loop that hangs lower than the gland, so that rain drips off instead of running in.

## Lightning

On open bridges, connect the bracket to the railing with a copper wire of 16 square millimetres. In
places with more than twenty days of thunderstorms a year, the surge protector from the accessories
belongs between cable and logger.

---

## First settings

Hold your telephone near the lid and open the address that the gauge sends. The assistant asks for
six values, and everything except the first two can be changed later from the desk.

| Setting | On delivery | What to choose |
| --- | --- | --- |
| Name of the station | empty | As on the map, for example Mill Weir 2 |
| Reference height | 0.000 metres | Height of the lower rim of the lid above the zero of the staff |
| Interval | 15 minutes | 1 to 1440 minutes; shorter costs battery |
| Alarm mode | off | Rise in centimetres an hour that starts the mode |
| Blanking distance | 0.30 metres | Larger if a beam or pipe is close below |
| Averaging time | 20 seconds | 60 seconds in places with waves |

## Checking the first reading

Wait for three readings. Read the staff gauge at the same time, and enter what you see as the check
value. The assistant shows the difference. Up to 5 millimetres is normal on moving water. If it is
more, measure the reference height again before you correct anything: nine times out of ten the
tape was held at the wrong rim.

Finally, let the assistant send a test alarm, and make sure that it arrives at the people who are
meant to have it. Write your name and the date on the inside of the lid.

---

## Maintenance

A Dipper needs little care. Twice a year is enough at most places, best after the winter and after
the leaves have come down.

| When | What |
| --- | --- |
| Every six months | Wipe the radar window, remove webs and nests, check the safety pin |
| Every year | Compare with the staff gauge, exchange the drying agent, oil the hinge of the lid |
| Every two years | Exchange the battery pack and the seal of the lid |
| After every flood | Look for bent brackets and for wreckage in the beam |
| Every five years | Send the gauge to Berlin for calibration in the tank |

## The lamp under the lid

The lamp is lit while the lid is open. Green means that everything is well. Blinking yellow means
that the last reading could not be sent; it is kept and sent later. Red means that there is no echo:
something stands in the beam, or the water has fallen dry. No light at all means that the battery
pack is empty or sits the wrong way round.

## Taking it down

Switch the station off in Larkmoor Stream first, otherwise it raises an alarm on its way through the
air. Secure the gauge with the cord, pull the pin, and lift it out of the swivel. The battery pack
is taken out for transport and travels in hand luggage or by road, never in the hold of an aeroplane.
"""

ANNUAL_REPORT = """
# Larkmoor Instruments annual report 2025

For the owners, the staff, and all who want to know how we are doing.

## From the managing director

2025 was the year in which the second generation of the Dipper reached the rivers. It came four
months late, because the first housings let in water at minus twenty degrees, and we preferred to be
late than to be sorry. Since March we have delivered 1,930 of them, and as far as we know all of
them are dry.

The Plover had a quieter year. It found its way into schools, which we had not planned and which
gives us more joy than a good quarter. A class in the north of Finland sent us a song about
dissolved oxygen.

We paid for growth with some disorder. Deliveries in the spring were late, telephones were not
always answered, and twice a customer learned from a newspaper what we should have told them. The
measures that we took are described in this report. I thank all who stayed patient, and all who were
impatient in a friendly way.

Henrike Aldenrath, Berlin, February 2026

## The year at a glance

- Sales rose by 17 per cent, to 12.6 million euros.
- The number of stations in Larkmoor Stream passed 9,000 in October.
- The warehouse in Boston doubled its floor.
- The calibration tank was accredited by the national laboratory.

---

## Markets

Water authorities remain our largest group of customers. Their orders come in the second half of the
year, when budgets have to be spent, which makes our summers quiet and our Decembers hectic.
Hydropower was the surprise: two groups of operators in the Alps equipped all their intakes within
one year.

| Group of customers | 2024 | 2025 | Share 2025 |
| --- | --- | --- | --- |
| Water authorities | 5.2 | 5.7 | 45 per cent |
| Hydropower | 1.9 | 2.9 | 23 per cent |
| Harbours and canals | 1.8 | 1.9 | 15 per cent |
| Universities and schools | 1.3 | 1.5 | 12 per cent |
| Others | 0.6 | 0.6 | 5 per cent |

All amounts are in millions of euros.

## By region

Europe accounts for 61 per cent of sales, the Americas for 28, China for 9 and the rest of the world
for 2. The contract with our partner in Shanghai was extended until the end of 2028. Sales in the
Americas would have been higher if brackets had not been held up in customs for seven weeks in the
autumn; since then Boston keeps a reserve for three months.

## Competition

Two makers from Asia have brought out radar gauges at a price that we cannot match. We have taken
them apart. They are decent devices, and their weakness lies in the service: a repair takes a
quarter of a year. So we answer with shorter repairs and longer promises, not with lower prices.

---

## Results

The table shows the result of the year beside that of the two years before. Costs of staff grew
faster than sales, because the new colleagues in support had to be trained before they could help.

| Millions of euros | 2023 | 2024 | 2025 |
| --- | --- | --- | --- |
| Sales of devices | 6.7 | 7.8 | 8.9 |
| Larkmoor Stream and service plans | 2.4 | 3.0 | 3.7 |
| Total sales | 9.1 | 10.8 | 12.6 |
| Material | 3.1 | 3.6 | 4.2 |
| Staff | 4.2 | 4.9 | 5.9 |
| Research and development | 0.8 | 0.9 | 1.1 |
| Other costs | 0.5 | 0.6 | 0.6 |
| Operating profit | 0.5 | 0.8 | 0.8 |

## Remarks on the result

Operating profit stood still although sales grew. Without the rework on the first housings, which
cost 310,000 euros, it would have reached 1.1 million. The rework is finished and will not burden
2026.

Income from the platform and from service plans has grown by a quarter for the second time in a row.
It now covers the whole cost of support, which had been our aim since 2022.

## Financing

The loan for the calibration tank was paid back in June, two years early. There are no other loans.
At the end of the year 2.3 million euros were in the bank, enough for about two and a half months of
expenses. The owners have agreed to leave the profit in the company.

---

## People

At the end of 2025 Larkmoor had 84 employees, eleven more than a year before.

| Employees on 31 December | 2024 | 2025 |
| --- | --- | --- |
| Berlin: development and workshop | 38 | 43 |
| Berlin: everything else | 8 | 9 |
| Boston: software | 15 | 18 |
| Boston: training, warehouse, support | 12 | 14 |

Five people left us, two of them into retirement. Those who joined waited 47 days on average from
their application to a contract; the aim is 30. Four apprentices are being trained in the workshop.

Three accidents with days of absence were reported, all of them on the stairs and none at the water.
The stairs in Berlin have been given a second handrail.

## Environment

The workshop has used electricity from wind and water only since 2020. The largest remaining part of
our footprint is air freight between Berlin and Boston, 71 tonnes of carbon dioxide in 2025. From
2026 devices travel by ship, and only spare parts that somebody is waiting for may fly.

Old battery packs are taken back free of charge. In 2025 we collected 2,140 of them, about six in
ten of those that we had sold two years earlier.

---

## Outlook

For 2026 we expect sales between 13.5 and 14.2 million euros and an operating profit of about one
million. Three things will decide whether this comes true: the delivery of radar chips, the
exchange rate of the dollar, and the weather. A wet summer is good for us, a dry one is not; there
is no modest way to say this.

## What we plan

- A version of the Plover with a longer cable of 25 metres, for reservoirs, in the autumn.
- Repairs in five working days instead of ten, first in Berlin and then in Boston.
- A web page on which customers see how far their repair has got.
- A second apprentice workshop, together with two neighbours in the courtyard.

## What worries us

The skill of calibrating radar gauges lies with three people, the youngest of whom is fifty-six. Two
apprentices began to learn it in January. We also depend on a single maker of radar chips; a second
one is being tested, and the first results will be known in the summer.

## How to reach us

Questions about this report are answered by Pia Hollenstedt, head of finance. A printed copy is sent
free of charge to everyone who asks for one by postcard.
"""

PRICE_LIST: dict[str, list[tuple[str | int, ...]]] = {
    "Devices and plans": [
        ("Article", "Description", "Unit", "Price EUR", "Price USD", "Delivery"),
        (
            "D-200",
            "Dipper gauge with wall bracket and battery pack",
            "piece",
            2480,
            2690,
            "2 weeks",
        ),
        ("D-210", "Dipper gauge with satellite modem", "piece", 3150, 3420, "4 weeks"),
        ("P-100", "Plover probe with display and 10 m cable", "piece", 1150, 1260, "in stock"),
        ("S-010", "Larkmoor Stream, one gauge", "year", 216, 234, "at once"),
        ("S-011", "Larkmoor Stream, up to five probes", "year", 144, 156, "at once"),
        ("S-020", "Guardian plan for a gauge", "year", 190, 206, "at once"),
        ("S-021", "Guardian plan for a probe", "year", 95, 103, "at once"),
        ("S-030", "Training day, up to 12 people", "day", 1400, 1550, "6 weeks"),
        ("S-031", "Installation by our engineers", "day", 980, 1120, "3 weeks"),
    ],
    "Accessories": [
        ("Article", "Description", "Fits", "Price EUR", "Price USD"),
        ("A-301", "Wall bracket with swivel", "Dipper", 128, 139),
        ("A-302", "Clamp set for steel girders", "Dipper", 74, 80),
        ("A-303", "Heated hood for the radar window", "Dipper", 265, 288),
        ("A-304", "Surge protector", "Dipper", 59, 64),
        ("A-305", "Solar box with 20 W panel", "Dipper", 410, 445),
        ("A-306", "Battery pack", "Dipper", 96, 104),
        ("A-401", "pH electrode", "Plover", 118, 128),
        ("A-402", "Oxygen cap", "Plover", 64, 69),
        ("A-403", "Calibration liquids, set of three", "Plover", 32, 35),
        ("A-404", "Hard case", "Plover", 85, 92),
        ("A-405", "Storage cup", "Plover", 9, 10),
    ],
}

ROADSHOW: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        "Spring roadshow 2026",
        ("Ten stops with a van, two gauges, six probes and a folding table",),
    ),
    (
        "Why we go on the road",
        (
            "Rangers and lock keepers rarely come to trade fairs; we go to their rivers",
            "Everybody measures with their own hands within the first ten minutes",
            "In 2025 every fourth visitor ordered within half a year",
            "What we hear at the folding table goes straight to the product boards",
        ),
    ),
    (
        "Stops in Europe",
        (
            "Regensburg, 4 May: below the stone weir, with the Danube district authority",
            "Linz, 6 May: harbour basin, Dipper beside the old staff gauge",
            "Győr, 8 May: three rivers in one afternoon",
            "Maribor, 12 May: hydropower operators only, by invitation",
            "Trento, 15 May: school day with forty Plovers on loan",
        ),
    ),
    (
        "Stops in North America",
        (
            "Burlington, 1 June: lake shore, with the state laboratory",
            "Albany, 3 June: lock keepers' meeting",
            "Pittsburgh, 8 June: where two rivers become one",
            "Wheeling, 10 June: bridge day, harnesses for everyone",
            "Cairo, Illinois, 15 June: end of the tour, with a barbecue",
        ),
    ),
    (
        "What is in the van",
        (
            "Two demonstration gauges on tripods, and a tank of 60 litres with a wave maker",
            "Forty-eight yellow caps, because they get lost",
            "Rescue vests for eight guests; nobody steps on a jetty without one",
            "Coffee for two hundred people",
        ),
    ),
    (
        "Money and people",
        (
            "Budget: 38,500 euros, of which 11,000 are for the crossing of the second van",
            "Driver in Europe: Jorun Fellgiebel; in America: Ambrose Teller",
            "Target: 400 conversations and 60 orders by the end of the year",
            "Trial devices are lent for four weeks, without brackets until week 16",
        ),
    ),
)
