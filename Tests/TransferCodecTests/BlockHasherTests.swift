import Testing
import TransferCodec
import TransferModel

@Suite struct BlockHasherTests {
    @Test(arguments: DigestVector.blocks, DigestFunction.allCases)
    func agreesWithTheTools(vector: DigestVector, function: DigestFunction) {
        let oneShot = vector.content.withUnsafeBytes { BlockHasher.digest(function, $0) }
        let hasher = BlockHasher(function)
        vector.content.withUnsafeBytes { hasher.update($0) }
        #expect(hexadecimal(oneShot) == vector.digits(function))
        #expect(hasher.finish() == oneShot)
    }

    @Test(arguments: DigestFunction.allCases)
    func cutsDoNotMatter(function: DigestFunction) {
        let content = Sample.random(10_000)
        let whole = content.withUnsafeBytes { BlockHasher.digest(function, $0) }
        let hasher = BlockHasher(function)
        var generator = SplitMix64(seed: 2)
        for _ in 0..<50 {
            content.withUnsafeBytes { bytes in
                var start = 0
                while start < bytes.count {
                    let end = min(bytes.count, start + Int.random(in: 0...1500, using: &generator))
                    hasher.update(UnsafeRawBufferPointer(rebasing: bytes[start..<end]))
                    start = end
                }
            }
            #expect(hasher.finish() == whole)
        }
    }

    @Test(arguments: DigestFunction.allCases)
    func isReadyAfterFinishAndReset(function: DigestFunction) {
        let empty = BlockHasher.digest(function, UnsafeRawBufferPointer(start: nil, count: 0))
        let hasher = BlockHasher(function)
        #expect(hasher.function == function)
        #expect(hasher.finish() == empty)
        Sample.random(300).withUnsafeBytes { hasher.update($0) }
        hasher.reset()
        #expect(hasher.finish() == empty)
        Sample.random(300).withUnsafeBytes { hasher.update($0) }
        #expect(hasher.finish() != empty)
        #expect(hasher.finish() == empty)
    }

    private func hexadecimal(_ digest: [UInt8]) -> String {
        digest.map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined()
    }
}
