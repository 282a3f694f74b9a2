import TransferCodec
import TransferProtocol
import TransferTestSupport
import Testing

@testable import TransferStore

/// Where files of a server arrive.
@Suite struct LandingTests {
    private let temporary: TemporaryDirectory
    private let landing: Landing

    init() throws {
        temporary = try TemporaryDirectory()
        landing = try Landing(path: temporary.path("in"))
    }

    /// What is in the directory, parts included.
    private var tree: Set<String> { Files.tree(temporary.path("in")) }

    /// Brings a file as a long one is brought.
    private func publish(_ content: [UInt8], _ conflict: ConflictPolicy) throws -> Result<Published, StoreError> {
        let id = UploadID.random()
        let staged = try #require(try landing.resume(id: id, size: UInt64(content.count)))
        try content.withUnsafeBytes { bytes in try staged.write(bytes, at: 0) }
        let publication = Publication(
            staged: staged, id: id, path: try RelativePath("a"), size: UInt64(content.count),
            digest: content.withUnsafeBytes { ContentDigester.digest(.xxh128, $0) }, conflict: conflict, modified: nil,
            permissions: nil)
        return try #require(landing.publish([publication]).first)
    }

    /// Somebody has taken the name while the file was fetched, or has fetched it as well.
    @Test(arguments: [([UInt8].two, ConflictPolicy.skip), (.one, .keepBoth)] as [([UInt8], ConflictPolicy)])
    func nothingIsLeftOfWhatIsNotNeeded(_ content: [UInt8], _ conflict: ConflictPolicy) throws {
        try Files.write(.one, to: temporary.path("in/a"))
        let outcome = try publish(content, conflict).get()
        #expect(outcome.withoutIdentity == (conflict == .skip ? .skipped : try .alreadyStored("a")))
        landing.tidy()
        #expect(tree == ["a"] && Files.read(temporary.path("in/a")) == .one)
    }

    /// What may be wanted again stays.
    @Test func whatTheNameWasRefusedToStays() throws {
        try Files.write(.one, to: temporary.path("in/a"))
        let outcome = try publish(.two, .fail)
        #expect(throws: StoreError.self) { try outcome.get() }
        #expect(tree.contains { $0.hasPrefix(Landing.partsName) && $0.hasSuffix(".part") }, "\(tree)")
    }

    @Test func whatIsStoredIsWhole() throws {
        #expect(try publish(.one, .keepBoth).get().withoutIdentity == .committed("a"))
        landing.tidy()
        #expect(tree == ["a"] && Files.read(temporary.path("in/a")) == .one)
    }
}
