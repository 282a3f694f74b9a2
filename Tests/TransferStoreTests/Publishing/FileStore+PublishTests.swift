import Glibc
import Testing
import TransferPorts
import TransferModel
import TransferSystem
import TransferTestSupport

@testable import TransferStore

@Suite struct FileStorePublishTests {
    /// Result of the admission; nil if there is no objection.
    enum Answer: Equatable {
        case skipped
        case refused(ResultCode)
    }

    private func admit(
        _ fixture: StoreFixture, _ path: String, size: UInt64?, _ conflict: ConflictPolicy
    ) throws -> Answer? {
        let path = try RelativePath(path)
        do throws(Failure) {
            let answer = try fixture.store.admit(path, size: size, conflict: conflict)
            #expect(answer == nil || answer == .skipped)
            return answer == nil ? nil : .skipped
        } catch {
            return .refused(error.code)
        }
    }

    /// A file of three bytes, a directory, a FIFO, a link to the file, and a missing path.
    @Test(
        arguments: [
            ("file", 3, .keepBoth, nil), ("file", 4, .keepBoth, nil), ("file", 4, .overwrite, nil),
            ("file", 3, .fail, nil), ("file", 4, .fail, .refused(.pathConflict)), ("file", nil, .fail, nil),
            ("file", 3, .skip, .skipped), ("file", nil, .skip, .skipped),
            ("dir", 3, .keepBoth, nil), ("dir", 3, .overwrite, .refused(.pathConflict)),
            ("dir", nil, .fail, .refused(.pathConflict)), ("dir", 3, .skip, .skipped),
            ("fifo", 3, .overwrite, nil), ("fifo", 3, .fail, .refused(.pathConflict)), ("fifo", 0, .skip, .skipped),
            ("link", 3, .overwrite, nil), ("link", 3, .skip, .skipped), ("link", 3, .keepBoth, nil),
            ("missing", 3, .fail, nil), ("missing", 3, .skip, nil), ("missing/below/it", 3, .overwrite, nil),
            ("dir/missing", nil, .fail, nil),
            ("file/below", 3, .keepBoth, .refused(.pathConflict)), ("file/a/b", 3, .skip, .refused(.pathConflict)),
            ("outside/a", 3, .keepBoth, .refused(.invalidPath)), ("inside/a", 3, .skip, .refused(.invalidPath)),
            ("outside", 3, .overwrite, nil), ("dangling/a", 3, .keepBoth, .refused(.invalidPath)),
        ] as [(String, UInt64?, ConflictPolicy, Answer?)], [false, true])
    func admission(
        _ attempt: (path: String, size: UInt64?, conflict: ConflictPolicy, answer: Answer?), usesOpenat2: Bool
    ) throws {
        let fixture = try StoreFixture(usesOpenat2: usesOpenat2)
        try Files.write(.one, to: fixture.path("file"))
        try Files.makeDirectory(fixture.path("dir"))
        try Files.makeFIFO(fixture.path("fifo"))
        try Files.makeSymlink(fixture.path("link"), to: "file")
        try Files.makeSymlink(fixture.path("outside"), to: fixture.temporary.path)
        try Files.makeSymlink(fixture.path("inside"), to: "dir")
        try Files.makeSymlink(fixture.path("dangling"), to: "nowhere")
        let before = Files.tree(fixture.temporary.path)
        #expect(try admit(fixture, attempt.path, size: attempt.size, attempt.conflict) == attempt.answer)
        #expect(Files.tree(fixture.temporary.path) == before)
    }

    @Test(arguments: [false, true]) func versionAtAPath(usesOpenat2: Bool) throws {
        let fixture = try StoreFixture(usesOpenat2: usesOpenat2)
        try fixture.publish("a/file", .one)
        try fixture.publish("empty", [])
        try Files.makeFIFO(fixture.path("fifo"))
        try Files.makeSymlink(fixture.path("link"), to: "a/file")
        try Files.makeSymlink(fixture.path("dir"), to: "a")
        func holds(_ path: String, _ size: UInt64) throws -> Bool {
            fixture.store.version(at: try RelativePath(path))?.size == size
        }
        #expect(try holds("a/file", 3))
        #expect(try !holds("a/file", 2))
        #expect(try holds("empty", 0))
        for path in ["a", "fifo", "missing", "a/missing", "x/y/z", "empty/b"] { #expect(try !holds(path, 0)) }
        for path in ["link", "dir/file", "a/file/b"] { #expect(try !holds(path, 3)) }
        unlink(fixture.path("a/file"))
        #expect(try !holds("a/file", 3))
    }

    /// A few hundred publications with all outcomes leave no descriptor open.
    @Test(arguments: [false, true]) func noDescriptorStays(usesOpenat2: Bool) throws {
        let fixture = try StoreFixture(usesOpenat2: usesOpenat2)
        try Files.makeSymlink(fixture.path("link"), to: "elsewhere")
        try fixture.publish("file", .one)
        let before = Files.descriptors(below: fixture.temporary.path).sorted()
        #expect(before.count == 4)
        for round in 0..<40 {
            let content = [UInt8](text: "content \(round % 7)")
            let paths = ["n/a", "d\(round)/e/f", "file/x", "link/x", "n/a", "n/b"]
            _ = fixture.publish(
                try paths.enumerated().map { index, path in
                    let policy = ConflictPolicy(rawValue: UInt8((round + index) % 4)) ?? .keepBoth
                    return try fixture.publication(path, content, policy, asPart: index.isMultiple(of: 2))
                })
            _ = try? fixture.store.admit(RelativePath("link/x"), size: 3, conflict: .fail)
            _ = fixture.store.version(at: try RelativePath("d\(round)/e/f"))
            _ = try fixture.store.unfinished()
        }
        #expect(Files.descriptors(below: fixture.temporary.path).sorted() == before)
        #expect(fixture.parts.isEmpty)
    }

    @Test func noDescriptorStaysOfAStoreThatIsClosed() throws {
        let temporary = try TemporaryDirectory()
        for _ in 0..<10 {
            let store = try FileStore(path: temporary.path)
            #expect(throws: Failure.self) { try FileStore(path: temporary.path) }
            _ = store.umask
        }
        #expect(Files.descriptors(below: temporary.path).isEmpty)
    }
}
