import CLinux
import Glibc
import Testing
import TransferModel
import TransferTestSupport

@testable import TransferClient

@Suite struct MoveTargetTests {
    private let directory: TemporaryDirectory
    private let watched: SourceRoot
    private let target: MoveTarget

    init() throws {
        directory = try TemporaryDirectory()
        target = MoveTarget(directory.path("watched/done"))
        try Files.makeDirectory(directory.path("watched"))
        watched = try SourceRoot(directory.path("watched"))
        #expect(target.obstacle(from: watched) == nil)
    }

    /// A report of a file that the server has acknowledged and that is unchanged.
    private func report(_ relative: String, _ text: String = "x") throws -> UploadReport {
        let path = directory.path("watched/\(relative)")
        try Files.write(path, text)
        var report = UploadReport(
            source: path, uploadID: .random(), result: .committed, kind: .file, size: 1, message: "")
        report.place = SourcePlace(relative, below: watched)
        report.file = report.place?.identity
        return report
    }

    @Test func keepsThePathBelowTheDirectory() throws {
        let fate = target.take(try report("deep/er/a.jpg"), "deep/er/a.jpg")
        #expect(fate == .moved(to: directory.path("watched/done/deep/er/a.jpg")))
        #expect(Files.tree(directory.path) == ["watched/done/deep/er/a.jpg"])
    }

    @Test func replacesNothing() throws {
        for (number, name) in ["a.jpg", "a-1.jpg", "a-2.jpg"].enumerated() {
            let fate = target.take(try report("a.jpg", "\(number)"), "a.jpg")
            #expect(fate == .moved(to: directory.path("watched/done/\(name)")))
        }
        for (number, name) in ["a.jpg", "a-1.jpg", "a-2.jpg"].enumerated() {
            #expect(Files.read(directory.path("watched/done/\(name)")) == Array("\(number)".utf8))
        }
    }

    @Test func whatHasChangedStays() throws {
        let pushed = try report("a")
        try Files.write(directory.path("watched/a"), "longer")
        #expect(target.take(pushed, "a") == .kept("It has changed since it was sent."))
        #expect(Files.tree(directory.path) == ["watched/a"])
    }

    @Test func whatIsGoneStaysGone() throws {
        let pushed = try report("a")
        try Files.check(unlink(directory.path("watched/a")), "unlink")
        #expect(target.take(pushed, "a") == .kept("It has changed since it was sent."))
        #expect(Files.tree(directory.path) == [])
    }

    /// A file stands where a folder of the target should be.
    @Test func whatCannotBeMovedStays() throws {
        try Files.write(directory.path("watched/done/sub"), "a file")
        let fate = target.take(try report("sub/a"), "sub/a")
        guard case .kept(let reason) = fate else {
            Issue.record("\(fate)")
            return
        }
        #expect(reason.hasSuffix("is not a folder but, for example, a symbolic link."))
        #expect(Files.tree(directory.path) == ["watched/done/sub", "watched/sub/a"])
    }

    @Test func saysWhereNothingCanBeMovedTo() throws {
        for above in ["watched", "watched/", "."] {
            #expect(MoveTarget(directory.path(above)).obstacle(from: watched)?.hasSuffix("or contains it.") == true)
        }
        try Files.write(directory.path("file"), "x")
        #expect(MoveTarget(directory.path("file")).obstacle(from: watched)?.hasSuffix("is not a directory.") == true)
        let deep = MoveTarget(directory.path("no/such")).obstacle(from: watched)
        #expect(deep?.contains("cannot be created: ") == true)
        guard let other = SmallFileSystem(directory.path("other")) else { return }
        let far = MoveTarget(other.path + "/done").obstacle(from: watched)
        #expect(far?.contains("is on another file system") == true)
    }

    /// Users who may write in the watched directory make a link where the target folder, or a folder in it, should be.
    @Test func noLinkLeadsElsewhere() throws {
        try Files.makeDirectory(directory.path("outside"))
        try Files.check(symlink(directory.path("outside"), directory.path("watched/done/sub")), "symlink")
        guard case .kept(let reason) = target.take(try report("sub/a"), "sub/a") else {
            Issue.record("it was moved")
            return
        }
        #expect(reason.hasSuffix("is not a folder but, for example, a symbolic link."))
        try Files.check(symlink(directory.path("outside"), directory.path("watched/link")), "symlink")
        for path in ["watched/link", "watched/link/deep"] {
            let obstacle = MoveTarget(directory.path(path)).obstacle(from: watched)
            #expect(obstacle?.contains("leads through a symbolic link in the watched directory") == true, "\(path)")
        }
        #expect(Files.tree(directory.path("outside")) == [])
    }

    /// The target folder is replaced after it was checked; no file moves to the replacement.
    @Test(arguments: [false, true]) func aFolderThatIsReplaced(isLink: Bool) throws {
        try Files.makeDirectory(directory.path("outside"))
        try Files.check(rename(directory.path("watched/done"), directory.path("watched/other")), "rename")
        if isLink {
            try Files.check(symlink(directory.path("outside"), directory.path("watched/done")), "symlink")
        } else {
            try Files.makeDirectory(directory.path("watched/done"))
        }
        guard case .kept = target.take(try report("a"), "a") else {
            Issue.record("it was moved")
            return
        }
        #expect(Files.tree(directory.path("outside")) == [])
        #expect(Files.read(directory.path("watched/a")) != nil)
    }

    /// The folder of the source was renamed, and a link has its path.
    @Test func aSourceFolderThatIsReplacedByALink() throws {
        try Files.write(directory.path("outside/a"), "x")
        let pushed = try report("sub/a")
        try Files.check(rename(directory.path("watched/sub"), directory.path("watched/was")), "rename")
        try Files.check(symlink(directory.path("outside"), directory.path("watched/sub")), "symlink")
        guard case .kept = target.take(pushed, "sub/a") else {
            Issue.record("it was moved")
            return
        }
        #expect(Files.read(directory.path("outside/a")) != nil)
    }

    /// Moving a file gives no other user more access than its source folder did.
    @Test func foldersAreAsPrivateAsTheirSource() throws {
        let pushed = try report("private/deep/a")
        try Files.check(chmod(directory.path("watched/private"), 0o700), "chmod")
        #expect(target.take(pushed, "private/deep/a") == .moved(to: directory.path("watched/done/private/deep/a")))
        let status = try SourceDirectory(directory.path("watched/done/private")).status()
        #expect(status.st_mode & 0o777 == 0o700)
    }

    @Test func isLeftOutWhereItIsInTheDirectory() {
        #expect(target.relative(to: directory.path("watched")) == "done")
        #expect(target.relative(to: directory.path) == "watched/done")
        #expect(target.relative(to: directory.path("elsewhere")) == nil)
        #expect(MoveTarget(directory.path("watched")).relative(to: directory.path("watch")) == nil)
    }
}
