import Testing
import TransferTestSupport

@testable import TransferIO

/// AES-GCM of two libraries: what one encrypts, the other decrypts, whatever its length.
@Suite(.enabled(if: TLSContext.hasWideAES, "this processor or machine has no wide AES"))
struct WideAESTests {
    private let pair: TLSPair

    init() throws {
        pair = try TLSPair(
            server: .server(.ed25519(seed: TLSPair.serverSeed), usesWideAES: false), judge: TLSPair.trusting)
        try pair.shake()
    }

    @Test func bothUseTheSameCipher() {
        #expect(pair.client.session.cipher == "TLS_AES_128_GCM_SHA256")
        #expect(pair.server.session.cipher == "TLS_AES_128_GCM_SHA256")
    }

    /// All lengths up to several blocks of sixteen wide instructions, and longer ones with whole and partial records.
    @Test func everyLength() throws {
        var random = SplitMix64(seed: 3)
        let lengths = Array(1...1100) + [4_095, 16_383, 16_384, 16_385, 40_000, 17 << 14]
        for length in lengths {
            let content = random.bytes(length)
            #expect(try pair.server.decrypt(pair.client.encrypt(content)).bytes == content, "\(length) bytes up")
            #expect(try pair.client.decrypt(pair.server.encrypt(content)).bytes == content, "\(length) bytes down")
        }
    }

    /// A thread serves more conversations in turn than it keeps keys for, and some conversations end in between.
    @Test func manyConversationsOnOneThread() throws {
        var pairs = try (0..<50).map { _ in
            let pair = try TLSPair(server: .server(.ed25519(seed: TLSPair.serverSeed)), judge: TLSPair.trusting)
            try pair.shake()
            return pair
        }
        for round in 0..<4 {
            for (number, pair) in pairs.enumerated() {
                let content = [UInt8](repeating: UInt8(number), count: 100 + round)
                #expect(try pair.server.decrypt(pair.client.encrypt(content)).bytes == content)
                #expect(try pair.client.decrypt(pair.server.encrypt(content)).bytes == content)
            }
            pairs.removeSubrange(5..<10)
        }
    }

    /// Both libraries refuse a changed record. The header of five bytes is left out: with another length, the receiver
    /// would wait for more bytes.
    @Test(arguments: 5..<40, [true, false]) func aFlippedBit(_ place: Int, up: Bool) throws {
        let (sender, receiver) = up ? (pair.client, pair.server) : (pair.server, pair.client)
        var record = try sender.encrypt(Array(0..<18))
        record[place] ^= 4
        #expect(throws: TLSFault.self) { _ = try receiver.decrypt(record) }
    }
}
