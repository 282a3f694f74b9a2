import CLinux
import Glibc
import Testing
import TransferModel
import TransferSystem
import TransferTestSupport

@testable import TransferClient

/// Files found below a directory are read from that directory, even if other users rename entries in it.
@Suite struct SourcePlaceTests {
    private let directory: TemporaryDirectory
    private let root: SourceRoot

    init() throws {
        directory = try TemporaryDirectory()
        for path in ["top/a/1", "top/b/2", "top/b/deep/3", "outside/2", "outside/deep/3"] {
            try Files.write(directory.path(path), path)
        }
        // A pool for this suite alone: tests that run in parallel push directories too and may exhaust the shared pool.
        root = try SourceRoot(directory.path("top"), in: HeldRoots(most: 1))
    }

    /// Replaces a folder by a symbolic link to a folder outside of the root.
    private func swap(_ name: String) throws {
        try Files.check(rename(directory.path("top/\(name)"), directory.path("was")), "rename")
        try Files.check(symlink(directory.path("outside"), directory.path("top/\(name)")), "symlink")
    }

    private func isRefused(_ body: () throws(SystemError) -> Void) -> Bool {
        do throws(SystemError) {
            try body()
            return false
        } catch {
            return [ELOOP, ENOTDIR].contains(error.errno)
        }
    }

    @Test(arguments: ["b/2", "b/deep/3"]) func nothingIsReachedThroughALink(path: String) throws {
        let place = SourcePlace(path, below: root)
        let before = try #require(place.identity)
        #expect(try SourceFile(place).identity == before)
        #expect(try SourceFile.Identity(place.status()) == before)
        try swap("b")
        #expect(isRefused { () throws(SystemError) in _ = try place.open(O_RDONLY) })
        #expect(isRefused { () throws(SystemError) in _ = try place.status() })
        #expect(isRefused { () throws(SystemError) in _ = try place.parent() })
        #expect(throws: Failure.self) { try SourceFile(place) }
        // The identity serves only for comparisons, so it is read through the link instead of throwing.
        #expect(place.identity != before)
    }

    @Test func theRootStaysTheDirectoryThatItWas() throws {
        let place = SourcePlace("b/2", below: root)
        try Files.check(rename(directory.path("top"), directory.path("was")), "rename")
        try Files.check(symlink(directory.path("outside"), directory.path("top")), "symlink")
        #expect(try Self.text(place) == "top/b/2")
    }

    /// A root that is not held open is opened again by its path and must still be the same directory. A root that is
    /// released makes room for another.
    @Test func oneOfManyRoots() throws {
        let pool = HeldRoots(most: 2)
        _ = try SourceRoot(directory.path("top"), in: pool)
        let roots = try (0..<3).map { _ in try SourceRoot(directory.path("top"), in: pool) }
        let (held, last) = (SourcePlace("b/2", below: roots[1]), SourcePlace("b/2", below: roots[2]))
        #expect(try Self.text(last) == "top/b/2")
        try Files.check(rename(directory.path("top"), directory.path("was")), "rename")
        try Files.write(directory.path("top/b/2"), "another")
        #expect(try Self.text(held) == "top/b/2")
        #expect(throws: Failure.self) { try SourceFile(last) }
        #expect(last.identity == nil)
    }

    /// "x" lies in the working directory and "/x" in the root of the file system; both paths have a single component.
    @Test func directoriesOfSourcesAreToldApart() throws {
        var directories = SourceDirectories(swept: SweptDirectories(WitnessKey(in: nil)))
        let places = ["x", "/x", "./x"].map { SourcePlace(named: $0, followsLink: false) }
        let found = try places.map { try directories.directory(of: $0).directory.identity }
        #expect(found[0] != found[1] && found[0] == found[2])
        #expect(try SourceDirectory("/").identity == found[1])
    }

    @Test func namesAreNotCutAtAZero() throws {
        for place in [
            SourcePlace("a/1\0x", below: root),
            SourcePlace(named: directory.path("top/a/1") + "\0x", followsLink: true),
        ] {
            #expect(throws: SystemError(errno: EINVAL, call: "open")) {
                do throws(SystemError) {
                    _ = try place.open(O_RDONLY)
                } catch {
                    throw SystemError(errno: error.errno, call: "open")
                }
            }
        }
    }

    /// The folder becomes a link after the walk has listed it and before the walk enters it.
    @Test func aWalkEntersNoLink() throws {
        var walk = DirectoryWalk(SourcePlace(root), relative: "t")
        guard case .file(_, relative: "t/a/1") = walk.next() else {
            Issue.record("another file comes first")
            return
        }
        try swap("b")
        guard case .skipped(_, relative: "t/b", let failure) = walk.next() else {
            Issue.record("the folder was entered")
            return
        }
        #expect(failure.code == .sourceUnreadable)
        #expect(walk.next() == nil)
    }

    /// A push opens each file that it found only when the file's turn comes; by then its folder may be a link.
    @Test func aFeedGivesNoFileOfAnotherFolder() throws {
        let feed = UploadFeed([.path(directory.path("top"))], folder: "")
        var contents: [PendingUpload.Content] = []
        while case .upload(let upload) = feed.next() { contents.append(upload.content) }
        #expect(contents.count == 3)
        try swap("b")
        let read = contents.map { content in (try? ContentReader(content)) != nil }
        #expect(read == [true, false, false])
    }

    private static func text(_ place: SourcePlace) throws -> String {
        let file = try SourceFile(place)
        var bytes = [UInt8](repeating: 0, count: Int(file.size))
        let count = try bytes.withUnsafeMutableBytes { (bytes) throws(Failure) in try file.read(into: bytes) }
        return String(decoding: bytes.prefix(count), as: UTF8.self)
    }
}

/// Each test runs with openat2(2) and with the walk that replaces openat2 on older kernels.
@Suite struct BeneathTests {
    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
        try Files.write(directory.path("top/a/b/file"), "x")
        try Files.write(directory.path("outside"), "x")
        for (target, name) in [("a", "link"), ("../outside", "top/a/out"), (directory.path, "top/up")] {
            try Files.check(symlink(target, directory.path(name)), "symlink")
        }
        try Files.check(symlink("a", directory.path("top/inner")), "symlink")
    }

    private func open(_ path: String, walks: Bool) -> Int32 {
        do throws(SystemError) {
            let top = try SourceDirectory(directory.path("top"))
            let opened =
                walks
                ? try Beneath.walk(path, below: top.number, O_RDONLY)
                : try Beneath.open(path, below: top.number, O_RDONLY)
            return opened.number >= 0 ? 0 : -1
        } catch {
            return error.errno
        }
    }

    @Test(arguments: [false, true]) func whatIsThere(walks: Bool) {
        for path in [".", "a", "a/b", "a/b/file", "./a/./b"] { #expect(open(path, walks: walks) == 0, "\(path)") }
        #expect(open("a/none", walks: walks) == ENOENT)
    }

    @Test(arguments: [false, true]) func noLinkAndNothingAbove(walks: Bool) {
        for path in ["inner", "inner/b/file", "a/out", "up/outside"] {
            let code = open(path, walks: walks)
            #expect(code == ELOOP || code == ENOTDIR, "\(path): \(code)")
        }
        for path in ["..", "../outside", "a/../../outside"] { #expect(open(path, walks: walks) == EXDEV, "\(path)") }
    }
}
