import Testing
import TransferPorts
import TransferCodec
import TransferModel
import TransferTestSupport

@testable import TransferStore

/// The directory that a client fetches files to.
@Suite struct PullDirectoryTests {
    private let temporary: TemporaryDirectory

    init() throws {
        temporary = try TemporaryDirectory()
        try Files.makeDirectory(temporary.path("in"))
    }

    private func destination(_ durability: Durability = .commit) throws -> PullDirectory {
        try PullDirectory(path: temporary.path("in"), durability: durability)
    }

    /// All paths in the directory, also those of parts.
    private var tree: Set<String> { Files.tree(temporary.path("in")) }

    /// Publishes a file in the way that long files are fetched.
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

    /// Another process has taken the name during the fetch, or has fetched the same file. Without syncs, as in memory,
    /// the part still has the name for resuming.
    @Test(arguments: [ConflictPolicy.skip, .keepBoth], [Durability.commit, .none])
    func nothingIsLeftOfWhatIsNotNeeded(_ conflict: ConflictPolicy, _ durability: Durability) throws {
        let destination = try destination(durability)
        try Files.write(.one, to: temporary.path("in/a"))
        let outcome = try publish(conflict == .skip ? .two : .one, conflict, on: destination).get()
        #expect(outcome.withoutIdentity == (conflict == .skip ? .skipped : try .alreadyStored("a")))
        destination.tidy()
        #expect(tree == ["a"] && Files.read(temporary.path("in/a")) == .one)
    }

    /// The next process reads the notes about received files, whatever their names are.
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
        // The largest possible note: the longest paths, in which every byte is escaped.
        let longest = try RelativePath(
            [String](repeating: String(repeating: "\u{1}", count: 255), count: 16).joined(separator: "/"))
        let many = (0..<count).map { _ in
            ReceivedFile(.random(), longest, files[0].digest, travelled: 1, files[0].version)
        }
        let note = try #require(first.note(many))
        #expect(first.notes().first { $0.name == note }?.files == many)
    }

    /// A part stays if the file may be wanted again.
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
