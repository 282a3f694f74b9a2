import Testing
import TransferModel
import TransferProtocol
import TransferSystem
import TransferTestSupport

@testable import TransferServer

@Suite struct DiscoveryResponderTests {
    private typealias Arrival = DiscoveryResponder.Arrival

    private static let now = MonotonicTime(nanoseconds: 1)
    private static let key = [UInt8](repeating: 3, count: 32)
    private static let nonce = DiscoveryNonce(high: 1, low: 2)
    private static let probe = DiscoveryDatagram.probe(with: nonce)
    private static let text = Array("exit".utf8)

    private static func responder(ownPort: UInt16 = 5288) throws -> DiscoveryResponder {
        let name = try #require(DiscoveryName("nas"))
        return DiscoveryResponder(.init(name: name, instance: 4), ownPorts: [ownPort], at: now)
    }

    private static func arrival(_ change: (inout Arrival) -> Void = { _ in }) -> Arrival {
        var arrival = DiscoveryResponder.Arrival(port: 40_000, network: PeerNetwork(ipv4: 1), ports: [5288])
        change(&arrival)
        return arrival
    }

    private static func reply(_ bytes: [UInt8], _ arrival: Arrival = arrival()) throws -> DiscoveryResponder.Reply {
        var responder = try responder()
        return responder.reply(to: bytes[...], arrival, keyDigest: { key }, at: now)
    }

    @Test func aProbeIsAnswered() throws {
        guard case .answer(let bytes, hops: 64) = try Self.reply(Self.probe) else {
            Issue.record("no answer")
            return
        }
        #expect(bytes.count <= Self.probe.count)
        guard case .answer(let answer) = try DiscoveryDatagram.decode(bytes[...]) else {
            Issue.record("no answer")
            return
        }
        #expect(answer.nonce == Self.nonce && answer.name.text == "nas" && answer.keyDigest == Self.key)
        #expect(answer.ports == [5288] && answer.instance == 4)
    }

    @Test func withoutTLSThereIsNoKey() throws {
        var responder = try Self.responder()
        let reply = responder.reply(to: Self.probe[...], Self.arrival(), keyDigest: { nil }, at: Self.now)
        guard case .answer(let bytes, hops: 64) = reply,
            case .answer(let answer) = try DiscoveryDatagram.decode(bytes[...])
        else {
            Issue.record("no answer")
            return
        }
        #expect(answer.keyDigest == nil)
    }

    @Test(arguments: [[], text, [UInt8](repeating: 0, count: 65_507), DiscoveryDatagram.magic.dropLast()] as [[UInt8]])
    func anythingElseGoesBack(_ bytes: [UInt8]) throws {
        #expect(try Self.reply(bytes) == .echo(hops: 63))
    }

    /// Answers to broadcasts and multicasts must not leave the link.
    @Test func whatCameToManyStaysOnTheLink() throws {
        let arrival = Self.arrival { $0.isForMany = true }
        #expect(try Self.reply(Self.text, arrival) == .echo(hops: 1))
        guard case .answer(_, hops: 1) = try Self.reply(Self.probe, arrival) else {
            Issue.record("no answer")
            return
        }
        let outside = Self.arrival { ($0.isForMany, $0.isFromLink) = (true, false) }
        for bytes in [Self.text, Self.probe] { #expect(try Self.reply(bytes, outside) == .nothing(.fromOutside)) }
        // A datagram to a single address may come from anywhere.
        let routed = Self.arrival { $0.isFromLink = false }
        #expect(try Self.reply(Self.text, routed) == .echo(hops: 63))
    }

    @Test(arguments: [0, 1, 7, 19, 53, 1023] as [UInt16]) func servicesAreNotAnswered(_ port: UInt16) throws {
        for bytes in [Self.text, Self.probe] {
            #expect(try Self.reply(bytes, Self.arrival { $0.port = port }) == .nothing(.fromAService))
        }
    }

    @Test func whereNobodyCanConnectNobodyAnswers() throws {
        for bytes in [Self.text, Self.probe] {
            #expect(try Self.reply(bytes, Self.arrival { $0.ports = [] }) == .nothing(.notServed))
        }
    }

    /// No reply is larger than the datagram that it answers, whatever that contains.
    @Test func nothingIsLargerThanWhatCame() throws {
        var generator = SplitMix64(seed: 8)
        for count in 0..<400 {
            let fronts: [[UInt8]] = [
                [], DiscoveryDatagram.magic, Array(Self.probe[..<10]), Array(Self.probe[..<9]) + [2],
            ]
            for front in fronts {
                let bytes = Array((front + generator.bytes(count)).prefix(count))
                if case .answer = try Self.reply(bytes) { Issue.record("\(bytes)") }
                let short = Array(Self.probe.prefix(count))
                guard case .answer(let answer, _) = try Self.reply(short) else { continue }
                #expect(answer.count <= short.count)
            }
        }
    }

    // MARK: Two servers

    /// A datagram with the forged address of another server starts no exchange between the servers.
    @Test func anAnswerIsNotAnswered() throws {
        guard case .answer(let bytes, _) = try Self.reply(Self.probe) else {
            Issue.record("no answer")
            return
        }
        #expect(try Self.reply(bytes) == .nothing(.answer))
        for index in DiscoveryDatagram.magic.count..<bytes.count {
            var damaged = bytes
            damaged[index] ^= 0xFF
            guard case .nothing = try Self.reply(damaged) else {
                Issue.record("answered: \(index)")
                return
            }
        }
    }

    @Test func anEchoIsNotEchoed() throws {
        let marked = Self.arrival { $0.trafficClass = DiscoveryResponder.mark }
        for bytes in [Self.text, Self.probe] { #expect(try Self.reply(bytes, marked) == .nothing(.marked)) }
        let sameport = Self.arrival { ($0.port, $0.trafficClass) = (5288, 0) }
        for bytes in [Self.text, Self.probe] { #expect(try Self.reply(bytes, sameport) == .nothing(.fromAServer)) }
    }

    /// If the mark is lost and the ports are unusual, a loop between servers ends all the same.
    @Test(arguments: [64, 255, 3] as [UInt8]) func aCircleEnds(_ hops: UInt8) throws {
        var servers = [try Self.responder(ownPort: 6000), try Self.responder(ownPort: 7000)]
        var arrival = Self.arrival { ($0.port, $0.hops) = (7000, hops) }
        var count = 0
        while case .echo(let left) = servers[count % 2].reply(
            to: Self.text[...], arrival, keyDigest: { nil }, at: Self.now + .seconds(Double(count)))
        {
            arrival.port = count % 2 == 0 ? 6000 : 7000
            arrival.hops = left
            count += 1
            try #require(count <= 64)
        }
        #expect(count == min(Int(hops) - 1, 64))
    }

    @Test func withoutHopsThereIsNoEcho() throws {
        for hops in [0, 1, nil] as [UInt8?] {
            let arrival = Self.arrival { $0.hops = hops }
            #expect(try Self.reply(Self.text, arrival) == .nothing(.tooFar))
            // An answer is not answered.
            guard case .answer = try Self.reply(Self.probe, arrival) else {
                Issue.record("no answer")
                return
            }
        }
    }

    // MARK: Floods

    @Test func aFloodIsBounded() throws {
        var responder = try Self.responder()
        var bytes = 0
        for number in 0..<100_000 {
            let content = number % 2 == 0 ? Self.probe : [UInt8](repeating: 1, count: number % 5_000)
            let arrival = Self.arrival { $0.network = PeerNetwork(ipv4: UInt32(number)) }
            switch responder.reply(to: content[...], arrival, keyDigest: { nil }, at: Self.now) {
            case .answer(let answer, _): bytes += answer.count
            case .echo: bytes += content.count
            case .nothing(let silence): #expect(silence == .tooMuch)
            }
        }
        #expect(bytes > 0 && bytes <= 512 << 10)
    }
}
