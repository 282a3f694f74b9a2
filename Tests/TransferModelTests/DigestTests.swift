import Testing

@testable import TransferModel

@Suite struct DigestTests {
    @Test(
        arguments: [
            (0, false), (1, false), (4_194_303, false), (4_194_304, false), (4_194_305, true),
            (UInt64(Int64.max), true), (.max, true),
        ] as [(UInt64, Bool)]) func moreThanOneBlockIsATree(_ size: UInt64, isTree: Bool)
    {
        #expect(DigestFunction.xxh128.algorithm(forSize: size) == (isTree ? .xxh128Tree : .xxh128))
        #expect(DigestFunction.sha256.algorithm(forSize: size) == (isTree ? .sha256Tree : .sha256))
    }

    @Test(
        arguments: [
            (.xxh128, 1, "xxh128", .xxh128), (.sha256, 2, "sha256", .sha256),
            (.xxh128Tree, 3, "xxh128-tree-4m", .xxh128), (.sha256Tree, 4, "sha256-tree-4m", .sha256),
        ] as [(DigestAlgorithm, UInt8, String, DigestFunction)])
    func numbersAndNamesAreStable(
        _ algorithm: DigestAlgorithm, number: UInt8, name: String, function: DigestFunction
    ) {
        #expect(algorithm.rawValue == number)
        #expect(algorithm.name == name)
        #expect(algorithm.function == function)
    }

    /// A `begin` message names a function by the number of the plain digest.
    @Test(arguments: [(.xxh128, 16), (.sha256, 32)] as [(DigestFunction, Int)])
    func functions(_ function: DigestFunction, size: Int) {
        #expect(function.size == size)
        #expect(DigestAlgorithm(rawValue: function.rawValue) == function.algorithm(forSize: 0))
    }

    @Test func description() {
        let digest = Digest(.xxh128, [0x00, 0x0F, 0xA0] + [UInt8](repeating: 0x10, count: 12) + [0xFF])
        #expect(digest.hexadecimal == "000fa0" + String(repeating: "10", count: 12) + "ff")
        #expect(digest.description == "xxh128:" + digest.hexadecimal)
        #expect(Digest(.sha256Tree, Array(0x20..<0x40)).description.hasPrefix("sha256-tree-4m:202122"))
    }

    @Test func wrongSizeTraps() async {
        await #expect(processExitsWith: .failure) { _ = Digest(.sha256, [UInt8](repeating: 0, count: 16)) }
    }
}
