import Glibc
import Testing
import TransferTestSupport

@testable import TransferFuzzing

/// Runs every seed, the fuzzer's corpus, and every input that once broke a target through the fuzzer's targets.
///
/// `TRANSFER_FUZZ_CORPUS` names a directory with more inputs, for example `.build/fuzz/corpus`.
@Suite struct CorpusTests {
    private static let fuzz = String(#filePath.split(separator: "/").dropLast(3).map { "/" + $0 }.joined()) + "/Fuzz"

    private static func inputs(_ target: FuzzTarget) -> [String] {
        let more = getenv("TRANSFER_FUZZ_CORPUS").map { String(cString: $0) }
        return [fuzz + "/seeds", fuzz + "/corpus", fuzz + "/crashes", more].compactMap(\.self).flatMap { directory in
            let directory = "\(directory)/\(target.rawValue)"
            return names(in: directory).sorted().map { "\(directory)/\($0)" }
        }
    }

    @Test(arguments: FuzzTarget.allCases) func noInputBreaksAnything(_ target: FuzzTarget) throws {
        let runner = FuzzRunner(target)
        for path in Self.inputs(target) {
            let input = try #require(Self.content(path), "\(path) cannot be read")
            #expect(throws: Never.self, "\(path)") { try runner.run(input) }
        }
    }

    @Test(arguments: FuzzTarget.allCases) func thereAreSeeds(_ target: FuzzTarget) {
        #expect(Self.inputs(target).count >= 5)
    }

    /// Empty input, and input that no fuzzer would begin with.
    @Test(arguments: FuzzTarget.allCases) func anythingIsAnInput(_ target: FuzzTarget) throws {
        let runner = FuzzRunner(target)
        let seed = UInt64.random(in: 0 ... .max)
        var generator = SplitMix64(seed: seed)
        try runner.run([])
        for byte in UInt8.min ... .max { try runner.run([byte]) }
        for count in 0..<300 {
            let input = generator.bytes(count)
            #expect(throws: Never.self, "seed \(seed)") { try runner.run(input) }
        }
    }

    /// Every frame in a conversation that has begun.
    @Test func everyFrameMayCome() throws {
        let runner = FuzzRunner(.server)
        // docs/reference/protocol.md, function codes.
        let hello: UInt8 = 1
        for code in 0..<UInt8(64) {
            for argument in [0, 3, 0xFF] as [UInt8] {
                let input = [7, hello, 0, code, argument, code, argument, code, argument ^ 1]
                #expect(throws: Never.self, "\(input)") { try runner.run(input) }
            }
        }
    }

    private static func content(_ path: String) -> [UInt8]? {
        guard let file = fopen(path, "r") else { return nil }
        defer { fclose(file) }
        var content: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while case let count = fread(&buffer, 1, buffer.count, file), count > 0 { content += buffer[..<count] }
        return content
    }
}
