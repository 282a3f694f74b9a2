import Glibc
import Testing
import TransferModel
import TransferTestSupport

@testable import TransferClient

@Suite struct MoveTargetTests {
    private let directory: TemporaryDirectory
    private let target: MoveTarget

    init() throws {
        directory = try TemporaryDirectory()
        target = MoveTarget(directory.path("watched/done"))
        try Files.makeDirectory(directory.path("watched"))
        #expect(target.obstacle(from: directory.path("watched")) == nil)
    }

    /// A file that the server has acknowledged as it is now.
    private func report(_ relative: String, _ text: String = "x") throws -> UploadReport {
        let path = directory.path("watched/\(relative)")
        try Files.write(path, text)
        var report = UploadReport(
            source: path, uploadID: .random(), result: .committed, kind: .file, size: 1, message: "")
        report.file = SourceFile.identity(path: path, followsLinks: false)
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

    /// A file where the folder should be.
    @Test func whatCannotBeMovedStays() throws {
        try Files.write(directory.path("watched/done/sub"), "a file")
        let fate = target.take(try report("sub/a"), "sub/a")
        guard case .kept(let reason) = fate else {
            Issue.record("\(fate)")
            return
        }
        #expect(reason.hasPrefix("It could not be moved: "))
        #expect(Files.tree(directory.path) == ["watched/done/sub", "watched/sub/a"])
    }

    @Test func saysWhereNothingCanBeMovedTo() throws {
        let watched = directory.path("watched")
        for above in ["watched", "watched/", "."] {
            #expect(MoveTarget(directory.path(above)).obstacle(from: watched)?.hasSuffix("or holds it.") == true)
        }
        try Files.write(directory.path("file"), "x")
        #expect(MoveTarget(directory.path("file")).obstacle(from: watched)?.hasSuffix("is no directory.") == true)
        let deep = MoveTarget(directory.path("no/such")).obstacle(from: watched)
        #expect(deep?.contains("cannot be made: ") == true)
        guard let other = SmallFileSystem(directory.path("other")) else { return }
        let far = MoveTarget(other.path + "/done").obstacle(from: watched)
        #expect(far?.contains("is on another file system") == true)
    }

    @Test func isLeftOutWhereItIsInTheDirectory() {
        #expect(target.relative(to: directory.path("watched")) == "done")
        #expect(target.relative(to: directory.path) == "watched/done")
        #expect(target.relative(to: directory.path("elsewhere")) == nil)
        #expect(MoveTarget(directory.path("watched")).relative(to: directory.path("watch")) == nil)
    }
}
