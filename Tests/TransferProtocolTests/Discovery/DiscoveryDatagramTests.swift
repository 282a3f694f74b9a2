import Testing
import TransferModel
import TransferTestSupport

@testable import TransferProtocol

@Suite struct DiscoveryDatagramTests {
    private static let nonce = DiscoveryNonce(high: 0x0102_0304_0506_0708, low: 0x090A_0B0C_0D0E_0F10)

    private static func answer(
        key: [UInt8]? = [UInt8](repeating: 7, count: 32), ports: [UInt16] = [5288], _ name: String = "nas"
    ) throws -> DiscoveryAnswer {
        let name = try #require(DiscoveryName(name))
        return try #require(DiscoveryAnswer(nonce, instance: 9, keyDigest: key, ports: ports, name: name))
    }

    /// The bytes as docs/reference/discovery.md defines them.
    @Test func aProbeByteByByte() throws {
        let bytes = DiscoveryDatagram.probe(with: Self.nonce)
        #expect(Array(bytes[..<8]) == [0xF5, 0x58, 0x46, 0x52, 0x46, 0x49, 0x4E, 0x44])
        #expect(Array(bytes[8..<26]) == [1, 1] + Array(1...16))
        #expect(bytes.count == 192 && bytes[26...].allSatisfy { $0 == 0 })
        #expect(try DiscoveryDatagram.decode(bytes[...]) == .probe(Self.nonce))
    }

    @Test func anAnswerByteByByte() throws {
        let bytes = try Self.answer(ports: [5288, 1]).bytes
        #expect(Array(bytes[8..<26]) == [1, 2] + Array(1...16))
        #expect(Array(bytes[26..<35]) == [0, 0, 0, 0, 0, 0, 0, 9, 1])
        #expect(Array(bytes[35..<67]) == [UInt8](repeating: 7, count: 32))
        #expect(Array(bytes[67...]) == [2, 3, 0x14, 0xA8, 0, 1] + Array("nas".utf8))
    }

    static let names = ["nas", "a", "\u{e9}", "e\u{301}", "two words", "1a", String(repeating: "x", count: 64)]

    @Test(arguments: names, [[UInt8](repeating: 0xFF, count: 32), nil])
    func answersComeBack(_ name: String, _ key: [UInt8]?) throws {
        for ports in [[5288], [.max, 1], Array(1...8)] as [[UInt16]] {
            let answer = try Self.answer(key: key, ports: ports, name)
            // An answer can be in the middle of a buffer.
            let bytes = [0, 0, 0] + answer.bytes
            #expect(try DiscoveryDatagram.decode(bytes[3...]) == .answer(answer))
            #expect(answer.bytes.count < DiscoveryDatagram.probeSize, "never larger than a probe")
        }
    }

    @Test func theLongestAnswerIsShorterThanAProbe() throws {
        let answer = try Self.answer(ports: Array(1...8), String(repeating: "x", count: 64))
        #expect(answer.bytes.count == DiscoveryAnswer.longest)
        #expect(DiscoveryAnswer.longest < DiscoveryDatagram.probeSize)
    }

    @Test func whatCannotBeAnAnswer() throws {
        let name = try #require(DiscoveryName("a"))
        let key = [UInt8](repeating: 0, count: 31)
        for (ports, key) in [([], nil), ([0], nil), ([1, 0], nil), ([1], key)] as [([UInt16], [UInt8]?)] {
            #expect(DiscoveryAnswer(Self.nonce, instance: 0, keyDigest: key, ports: ports, name: name) == nil)
        }
        // An answer has room for eight ports, and the others are dropped.
        let many = DiscoveryAnswer(Self.nonce, instance: 0, keyDigest: nil, ports: Array(1...20), name: name)
        #expect(many?.ports == Array(1...8))
    }

    @Test func whatBeginsOtherwiseIsNone() throws {
        let others: [[UInt8]] = [
            [], [0xF5], Array("exit".utf8), DiscoveryDatagram.magic.dropLast(), [UInt8](repeating: 0, count: 192),
        ]
        for bytes in others {
            #expect(try DiscoveryDatagram.decode(bytes[...]) == .other)
        }
    }

    @Test func aProbeOfAnotherSizeIsNone() {
        let probe = DiscoveryDatagram.probe(with: Self.nonce)
        for count in DiscoveryDatagram.magic.count..<probe.count {
            #expect(throws: DiscoveryFault.wrongSize(count)) { try DiscoveryDatagram.decode(probe[..<count]) }
        }
        #expect(throws: DiscoveryFault.wrongSize(193)) { try DiscoveryDatagram.decode((probe + [0])[...]) }
    }

    /// A probe with any byte set after its header is refused: a later version that uses these bytes could otherwise be
    /// mistaken for this version.
    @Test func nothingIsHiddenInAProbe() {
        let probe = DiscoveryDatagram.probe(with: Self.nonce)
        for index in DiscoveryDatagram.headerSize..<probe.count {
            var bytes = probe
            bytes[index] = 1
            #expect(throws: DiscoveryFault.strayBytes) { try DiscoveryDatagram.decode(bytes[...]) }
        }
    }

    @Test(
        arguments: [
            (8, 2, DiscoveryFault.unknownVersion(2)), (8, 0, .unknownVersion(0)), (9, 0, .unknownKind(0)),
            (9, 3, .unknownKind(3)), (34, 2, .unknownFlags(2)), (34, 3, .unknownFlags(3)), (34, 0, .strayBytes),
            (67, 0, .badPorts), (67, 9, .badPorts), (67, 2, .wrongSize(74)), (68, 0, .badName), (68, 65, .badName),
            (68, 4, .wrongSize(74)), (68, 2, .wrongSize(74)), (71, 0x1B, .badName), (71, 0xFF, .badName),
            (71, 0x2F, .badName),
        ] as [(Int, UInt8, DiscoveryFault)])
    func everyFieldIsChecked(_ index: Int, _ byte: UInt8, _ fault: DiscoveryFault) throws {
        var bytes = try Self.answer().bytes
        #expect(bytes.count == 74)
        bytes[index] = byte
        #expect(throws: fault) { try DiscoveryDatagram.decode(bytes[...]) }
    }

    @Test func thePortZeroIsNone() throws {
        var bytes = try Self.answer(ports: [256]).bytes
        bytes[69] = 0
        #expect(throws: DiscoveryFault.badPorts) { try DiscoveryDatagram.decode(bytes[...]) }
    }

    @Test func answersThatAreCutAreNone() throws {
        let bytes = try Self.answer(ports: Array(1...8)).bytes
        for count in DiscoveryDatagram.magic.count..<bytes.count {
            #expect(throws: DiscoveryFault.self) { try DiscoveryDatagram.decode(bytes[..<count]) }
        }
    }

    @Test func anyBytesNeverTrap() {
        let seed = UInt64.random(in: 0 ... .max)
        var generator = SplitMix64(seed: seed)
        for _ in 0..<5_000 {
            var bytes = generator.bytes(Int.random(in: 0...220, using: &generator))
            let front = DiscoveryDatagram.magic + [1, UInt8.random(in: 0...3, using: &generator)]
            bytes.replaceSubrange(..<min(bytes.count, front.count), with: front.prefix(bytes.count))
            guard case .answer(let answer)? = try? DiscoveryDatagram.decode(bytes[...]) else { continue }
            #expect(answer.bytes == bytes, "seed \(seed)")
        }
    }
}
