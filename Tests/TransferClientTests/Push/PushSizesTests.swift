import Testing
import TransferClient
import TransferCodec
import TransferModel
import TransferTestSupport

/// Files of sizes around every boundary arrive byte for byte.
@Suite struct PushSizesTests {
    private static let payload = 256 << 10
    private static let block = 4 << 20
    private static let sizes = [
        0, 1, 63, 64, 65_534, 65_535, 65_536, payload - 1, payload, payload + 1, block - 1, block, block + 1,
        2 * block, 9 << 20,
    ]

    @Test(arguments: ClientConfiguration.Compression.allCases, DigestFunction.allCases)
    func filesArriveByteForByte(_ compression: ClientConfiguration.Compression, _ digest: DigestFunction) async throws {
        try await withServer { server in
            let source = try TemporaryDirectory()
            var generator = SplitMix64(seed: 7)
            var contents: [String: [UInt8]] = [:]
            for size in Self.sizes {
                // Half of the content can be compressed.
                let random = generator.bytes(size / 2)
                let content = random + Array(repeating: 0x61, count: size - random.count)
                contents["\(size)"] = content
                try Files.write(source.path("sizes/\(size)"), content)
            }
            let outcome = try await server.address.outcome([.path(source.path("sizes"))]) {
                $0.compression = compression
                $0.digest = digest
            }
            #expect(outcome.failure == nil)
            for (name, content) in contents {
                let report = try #require(outcome[source.path("sizes/\(name)")])
                #expect(report.result == .committed, "\(name): \(report.message)")
                #expect(report.size == UInt64(content.count))
                #expect(report.isDurable)
                #expect(report.digest == ContentDigester.digest(digest, content), "\(name)")
                let isStored = server.stored("sizes/\(name)") == content
                #expect(isStored, "\(name)")
            }
        }
    }

    @Test(arguments: ClientConfiguration.Compression.allCases)
    func memoryArrivesByteForByte(_ compression: ClientConfiguration.Compression) async throws {
        try await withServer { server in
            var generator = SplitMix64(seed: 8)
            let contents = Self.sizes.map { generator.bytes($0) }
            let uploads = contents.map { Upload.bytes($0, name: "memory/\($0.count)") }
            let outcome = try await server.address.outcome(uploads) { $0.compression = compression }
            #expect(outcome.codes == Array(repeating: .committed, count: contents.count))
            let areStored = contents.map { server.stored("memory/\($0.count)") == $0 }
            #expect(areStored == Array(repeating: true, count: contents.count))
        }
    }
}
