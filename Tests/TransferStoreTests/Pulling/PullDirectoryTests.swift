import Testing
import TransferPorts
import TransferCodec
import TransferModel
import TransferTestSupport

@testable import TransferStore

/// Where files of a server arrive.
@Suite struct PullDirectoryTests {
    private let temporary: TemporaryDirectory

    init() throws {
        temporary = try TemporaryDirectory()
        try Files.makeDirectory(temporary.path("in"))
    }

    private func destination(_ durability: Durability = .commit) throws -> PullDirectory {
        try PullDirectory(path: temporary.path("in"), durability: durability)
    }

    /// What is in the directory, parts included.
    private var tree: Set<String> { Files.tree(temporary.path("in")) }

    /// Brings a file as a long one is brought.
    private func publish(
        _ content: [UInt8], _ conflict: ConflictPolicy, on destination: PullDirectory
    ) throws -> Result<PublicationOutcome, Failure> {
        let id = UploadID.random()
        let staged = try #require(try destination.resume(id: id))
        try content.withUnsafeBytes { bytes in try staged.write(bytes, at: 0) }
        let publication = Publication(
            staged: staged, id: id, path: try RelativePath("a"), size: UInt64(content.count),
            digest: content.withUnsafeBytes { ContentDigester.digest(.xxh128, $0) }, conflict: conflict, modified: nil,
            permissions: nil)
        return try #require(destination.publish([publication]).first)
    }

    /// Somebody has taken the name while the file was fetched, or has fetched it as well. Where nothing is synced, as in
    /// memory, the part has the name still under which it is gone on with.
    @Test(arguments: [ConflictPolicy.skip, .keepBoth], [Durability.commit, .none])
    func nothingIsLeftOfWhatIsNotNeeded(_ conflict: ConflictPolicy, _ durability: Durability) throws {
        let destination = try destination(durability)
        try Files.write(.one, to: temporary.path("in/a"))
        let outcome = try publish(conflict == .skip ? .two : .one, conflict, on: destination).get()
        #expect(outcome.withoutIdentity == (conflict == .skip ? .skipped : try .alreadyStored("a")))
        destination.tidy()
        #expect(tree == ["a"] && Files.read(temporary.path("in/a")) == .one)
    }

    /// What is noted of received files is read by the next process, whatever they are called.
    @Test func notesComeBack() throws {
        let files = try OddNames.paths.enumerated().map { number, path in
            ReceivedFile(
                .random(), try RelativePath(path), Digest(.xxh128, Array(0..<16)), travelled: .max - UInt64(number / 2),
                ContentVersion(object: .max, revision: .min, touch: .max, size: .max - UInt64(number)),
                note: number.isMultiple(of: 2) ? nil : [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: 32))
        }
        for file in files { #expect(ReceivedFile(line: file.line) == file) }
        let first = try destination()
        let count = PullDirectory.mostNoted
        let batches = stride(from: 0, to: files.count, by: count).map {
            Array(files[$0..<min($0 + count, files.count)])
        }
        for batch in batches { #expect(first.note(batch) != nil) }
        let found = try destination().notes()
        #expect(found.count == batches.count)
        let noted = found.flatMap(\.files)
        #expect(noted.count == files.count && files.allSatisfy(noted.contains))
        // The most that there can be, of the longest paths in which every byte is escaped.
        let longest = try RelativePath(
            [String](repeating: String(repeating: "\u{1}", count: 255), count: 16).joined(separator: "/"))
        let many = (0..<count).map { _ in
            ReceivedFile(.random(), longest, files[0].digest, travelled: 1, files[0].version)
        }
        let note = try #require(first.note(many))
        #expect(first.notes().first { $0.name == note }?.files == many)
    }

    /// What may be wanted again stays.
    @Test func whatTheNameWasRefusedToStays() throws {
        try Files.write(.one, to: temporary.path("in/a"))
        let outcome = try publish(.two, .fail, on: destination())
        #expect(throws: Failure.self) { try outcome.get() }
        #expect(tree.contains { $0.hasPrefix(PullDirectory.partsName) && $0.hasSuffix(".part") }, "\(tree)")
    }

    @Test func whatIsStoredIsWhole() throws {
        let destination = try destination()
        #expect(try publish(.one, .keepBoth, on: destination).get().withoutIdentity == .committed("a"))
        destination.tidy()
        #expect(tree == ["a"] && Files.read(temporary.path("in/a")) == .one)
    }
}
