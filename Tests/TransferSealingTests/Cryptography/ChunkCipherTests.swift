import Testing
import TransferModel

@testable import TransferSealing

@Suite struct ChunkCipherTests {
    private let key = SecretBytes((0x80...0x9F).map { UInt8($0) })

    private func sealed(_ content: [UInt8], _ nonce: ChunkNonce) throws -> [UInt8] {
        let cipher = try ChunkCipher(.sealing, key: key)
        var output = [UInt8](repeating: 0, count: content.count + ChunkCipher.tagSize)
        try output.withUnsafeMutableBytes { output in
            try content.withUnsafeBytes { try cipher.seal($0, nonce, into: output) }
        }
        return output
    }

    @Test func noncesCount() {
        #expect(ChunkNonce.zero.bytes == [UInt8](repeating: 0, count: 12))
        #expect(ChunkNonce(chunk: 0x0102, isLast: true).bytes == [0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 1])
        #expect(ChunkNonce(chunk: .max, isLast: false).bytes == [0, 0, 0] + [UInt8](repeating: 255, count: 8) + [0])
    }

    /// Each chunk opens only at its own position, and a chunk that does not open leaves no content behind.
    @Test(arguments: [0, 1, 15, 16, 1000]) func opensInItsPlaceAlone(_ size: Int) throws {
        let content = Sample.content(size)
        let nonce = ChunkNonce(chunk: 5, isLast: false)
        let input = try sealed(content, nonce)
        let cipher = try ChunkCipher(.opening, key: key)
        var output = [UInt8](repeating: 0xEE, count: size)
        func opens(_ input: [UInt8], _ nonce: ChunkNonce) throws -> Bool {
            try output.withUnsafeMutableBytes { output in
                try input.withUnsafeBytes { try cipher.open($0, nonce, into: output) }
            }
        }
        #expect(try opens(input, nonce) && output == content)
        #expect(try !opens(input, ChunkNonce(chunk: 5, isLast: true)))
        #expect(output.allSatisfy { $0 == 0 })
        #expect(try !opens(input, ChunkNonce(chunk: 6, isLast: false)))
        var damaged = input
        damaged[size] ^= 1
        #expect(try !opens(damaged, nonce))
        #expect(try !opens(Array(input.prefix(15)), nonce))
        #expect(try opens(input, nonce) && output == content)
    }

    /// If the output has too little room, the call throws an error and does not write behind the end.
    @Test func roomIsChecked() throws {
        let cipher = try ChunkCipher(.sealing, key: key)
        var output = [UInt8](repeating: 0, count: 18)
        let input: [UInt8] = [1, 2, 3]
        #expect(throws: SealingError.failed("seal")) {
            try output.withUnsafeMutableBytes { output in
                try input.withUnsafeBytes { try cipher.seal($0, .zero, into: output) }
            }
        }
    }
}
