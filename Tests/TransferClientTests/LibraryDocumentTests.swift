import Testing
import TransferClient
import TransferTestSupport

/// Every example in the library's documentation is compiled.
@Suite struct LibraryDocumentTests {
    private static let root = "/" + #filePath.split(separator: "/").dropLast(3).joined(separator: "/")

    private static let article = "Sources/TransferClient/Documentation.docc/TransferClient.md"

    @Test func everyExampleIsCompiled() throws {
        let text = try #require(Files.read("\(Self.root)/\(Self.article)")).text
        let compiled = try #require(Files.read("\(Self.root)/Tests/TransferClientTests/LibraryExamples.swift")).text
        let examples = text.split(separator: "```swift\n").dropFirst().compactMap { $0.split(separator: "\n```").first }
        #expect(examples.count == 6)
        for example in examples {
            #expect(compiled.split(separator: example, omittingEmptySubsequences: false).count == 2, "\(example)")
        }
    }

    @Test func aKeyIsMadeOnceAndKept() throws {
        let directory = try TemporaryDirectory()
        var configuration = ClientConfiguration()
        let key = try configuration.showKey(in: directory.path("key.pem"))
        var other = ClientConfiguration()
        #expect(try other.showKey(in: directory.path("key.pem")) == key)
        let failure = #expect(throws: TransferFailure.self) { try other.showKey(in: directory.path("nowhere/key.pem")) }
        #expect(failure?.reason == .untrusted && failure?.message.contains("nowhere") ?? false)
    }

    @Test func pathsThatAreNone() async throws {
        #expect(try await !push(["a"], to: ""))
    }
}

extension [UInt8] {
    fileprivate var text: String { String(decoding: self, as: UTF8.self) }
}
