import Testing
import TransferIO
import TransferModel
import TransferTestSupport

@testable import TransferClient

/// The governor on modelled links.
@Suite struct LossGovernorTests {
    /// A link with Reno: losses limit the rate of each lane, and the link limits their sum.
    private struct Line {
        var roundTrip = 0.080
        /// Bytes per second of each lane and of the link.
        var perLane = 312_500.0
        var rate = 12_500_000.0
        /// Whether losses happen without a queue.
        var loses = true
        /// Segments retransmitted in each interval and lane.
        var lost: UInt32 = 1
        /// Queueing delay in seconds when the link is full.
        var queue = 0.080
        var fewestWithWork = Int.max
        var governor = LossGovernor()
        var now = MonotonicTime(nanoseconds: 1_000_000_000)
        private var acknowledged: [Int: Double] = [:]
        private var sentAgain: [Int: UInt32] = [:]

        init() {}

        var isFull: Bool { Double(min(governor.lanes, fewestWithWork)) * perLane >= rate }

        mutating func go(_ seconds: Double) {
            for _ in 0..<Int(seconds / LossGovernor.interval.seconds) { step() }
        }

        mutating func step() {
            now = now + LossGovernor.interval
            let lanes = min(governor.lanes, fewestWithWork)
            // A lane that returns is a new connection with new counters.
            for gone in acknowledged.keys where gone >= lanes { (acknowledged[gone], sentAgain[gone]) = (nil, nil) }
            let each = min(perLane, rate / Double(lanes)) * LossGovernor.interval.seconds
            var links: [Int: LinkReading] = [:]
            for lane in 0..<lanes {
                acknowledged[lane, default: 0] += each
                if loses || isFull { sentAgain[lane, default: 0] += lost }
                links[lane] = LinkReading(
                    leastRoundTrip: Int64(roundTrip * 1e9),
                    roundTrip: Int64((roundTrip + (isFull ? queue : 0)) * 1e9), measuresBandwidth: false,
                    heldByMemory: 0, acknowledged: UInt64(acknowledged[lane] ?? 0), sentAgain: sentAgain[lane] ?? 0)
            }
            governor.look(at: links, now: now)
        }
    }

    @Test func beginsWithFew() {
        #expect(LossGovernor().lanes == 2)
        #expect(LossGovernor(most: 1).lanes == 1)
        #expect(LossGovernor(most: -5).lanes == 1)
    }

    /// The governor reaches 32 lanes of 2.5 Mbit/s within two seconds and keeps them.
    @Test func lossWithoutAQueueIsAnsweredWithLanes() {
        var line = Line()
        line.go(2)
        #expect(line.governor.lanes == 32)
        line.go(60)
        #expect(line.governor.lanes == 32)
    }

    @Test func noMoreThanThereMayBe() {
        var line = Line()
        line.governor = LossGovernor(most: 5)
        line.go(30)
        #expect(line.governor.lanes == 5)
    }

    /// Losses while a queue is full show that the link is full.
    @Test func lossWithAQueueIsNot() {
        var line = Line()
        line.loses = false
        line.rate = 500_000
        line.go(60)
        #expect(line.governor.lanes == 2)
    }

    /// Losses right after a queue has drained are still due to it.
    @Test func lossRightBehindAQueueIsNot() {
        var line = Line()
        line.rate = 500_000
        for _ in 0..<20 {
            line.queue = 0.080
            line.step()
            line.queue = 0
            line.step()
        }
        #expect(line.governor.lanes == 2)
        line.go(1)
        #expect(line.governor.lanes == 8)
    }

    @Test func withoutLossNothingIsDone() {
        var line = Line()
        line.loses = false
        line.go(60)
        #expect(line.governor.lanes == 2)
    }

    /// The rate is limited without a queue: a step to more lanes that gains no throughput is reverted, and retried at
    /// growing intervals.
    @Test func whatBringsNothingIsTakenBack() {
        var line = Line()
        line.rate = 2_000_000
        line.queue = 0
        line.go(3)
        #expect(line.governor.lanes == 8)
        var tries: [Int] = []
        for _ in 0..<10 {
            var looks = 0
            for _ in 0..<300 {
                line.step()
                #expect(line.governor.lanes == 8 || line.governor.lanes == 32)
                looks += line.governor.lanes == 32 ? 1 : 0
            }
            tries.append(looks)
        }
        // The number of steps with 32 lanes, of 300 steps in half a minute.
        #expect(tries[0] <= 60 && tries[1...].allSatisfy { $0 <= 30 })
        for _ in 0..<300 where line.governor.lanes == 32 { line.step() }
        #expect(line.governor.lanes == 8)
        // The link becomes faster.
        line.rate = 12_500_000
        line.go(40)
        #expect(line.governor.lanes == 32)
    }

    /// Lanes start faster than losses later allow, so the first step seems to gain nothing.
    @Test func aFastBeginningIsNotTheMeasure() {
        var line = Line()
        line.perLane = 3_000_000
        line.go(0.2)
        line.perLane = 312_500
        line.go(2.5)
        #expect(line.governor.lanes < 8)
        line.go(6)
        #expect(line.governor.lanes == 32)
    }

    /// Lanes without work or without a connection prove nothing, and the governor takes no further step before they
    /// carry data.
    @Test func lanesWithoutWorkSayNothing() {
        var line = Line()
        line.fewestWithWork = 2
        line.go(60)
        #expect(line.governor.lanes == 8)
        line.fewestWithWork = .max
        line.go(6)
        #expect(line.governor.lanes == 32)
        line.fewestWithWork = 3
        line.go(6)
        #expect(line.governor.lanes == 32)
        line.fewestWithWork = .max
        line.go(6)
        #expect(line.governor.lanes == 32)
    }

    /// At 600 ms of round trip, a tenth of a second shows nothing, so early looks are ignored.
    @Test func farAway() {
        var line = Line()
        (line.roundTrip, line.perLane, line.rate) = (0.6, 93_750, 6_250_000)
        line.go(0.5)
        #expect(line.governor.lanes == 2)
        line.go(30)
        #expect(line.governor.lanes == 32)
    }

    /// Longer round trips on some lanes are not a queue, because the other lanes are not delayed.
    @Test func lateOnSomeLanesOnly() {
        var governor = LossGovernor()
        var most = 0
        for number in 1...20 {
            let links = (0..<5).map { lane in
                LinkReading(
                    leastRoundTrip: 80_000_000, roundTrip: lane < 2 ? 200_000_000 : 80_000_000,
                    measuresBandwidth: false, heldByMemory: 0, acknowledged: UInt64(number) * 100_000,
                    sentAgain: UInt32(number))
            }
            governor.look(
                at: Dictionary(uniqueKeysWithValues: links.enumerated().map { ($0, $1) }),
                now: MonotonicTime(nanoseconds: Int64(number) * 250_000_000))
            most = max(most, governor.lanes)
        }
        #expect(most == 8)
    }

    /// With any numbers from the kernel and any clock, there are 1 to 32 lanes.
    @Test(arguments: 1...50 as ClosedRange<UInt64>) func anyNumbers(_ seed: UInt64) {
        var generator = SplitMix64(seed: seed)
        var governor = LossGovernor(most: Int.random(in: -3...40, using: &generator))
        func number() -> Int64 {
            let numbers = [0, 1, -1, .min, .max, 80_000_000, Int64(bitPattern: generator.next())]
            return numbers.randomElement(using: &generator) ?? 0
        }
        var time = MonotonicTime(nanoseconds: number())
        for _ in 0..<200 {
            var links: [Int: LinkReading] = [:]
            for lane in 0..<Int.random(in: 0...40, using: &generator) {
                links[lane] = LinkReading(
                    leastRoundTrip: number(), roundTrip: number(), measuresBandwidth: false, heldByMemory: .nan,
                    acknowledged: UInt64(bitPattern: number()), sentAgain: UInt32(truncatingIfNeeded: number()))
            }
            governor.look(at: links, now: time)
            #expect((1...32).contains(governor.lanes))
            time = Bool.random(using: &generator) ? time + .milliseconds(250) : MonotonicTime(nanoseconds: number())
        }
    }
}
