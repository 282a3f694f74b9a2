import CLinux
import Glibc
import Testing
import TransferModel
import TransferTestSupport

@testable import TransferClient

@Suite struct SourceFileTests {
    private let directory: TemporaryDirectory
    private let path: String

    init() throws {
        directory = try TemporaryDirectory()
        path = directory.path("file")
        try Files.write(path, "content")
        // The time is in the past, so that every change shows even if the file system has a coarse clock.
        try Files.setTime(path, 1_000_000)
    }

    /// Changes of a file that the client must notice, and `nothing`.
    enum Change: CaseIterable {
        case nothing, grown, shrunk, rewritten, touched, replaced, removed, moved, becameLink, becameFIFO

        /// The client follows a link that the user named: a link to the unchanged file counts as the file.
        var showsThroughLinks: Bool { self != .nothing && self != .becameLink }

        func make(_ path: String) throws {
            switch self {
            case .nothing: break
            case .grown: try Files.append(path, "more")
            case .shrunk: try Files.check(truncate(path, 1), "truncate")
            case .rewritten: try Files.write(path, "CONTENT")
            case .touched: try Files.setTime(path, 2_000_000)
            case .replaced:
                try Files.write(path + ".new", "content")
                try Files.setTime(path + ".new", 1_000_000)
                try Files.check(rename(path + ".new", path), "rename")
            case .removed: try Files.check(unlink(path), "unlink")
            case .moved: try Files.check(rename(path, path + ".moved"), "rename")
            case .becameLink:
                try Files.check(rename(path, path + ".moved"), "rename")
                try Files.check(symlink(path + ".moved", path), "symlink")
            case .becameFIFO:
                try Files.check(unlink(path), "unlink")
                try Files.check(mkfifo(path, 0o600), "mkfifo")
            }
        }
    }

    @Test(arguments: Change.allCases)
    func changesAreNoticed(_ change: Change) throws {
        let file = try SourceFile(SourcePlace(named: path, followsLink: false))
        try change.make(path)
        if change == .nothing {
            try file.checkUnchanged()
        } else {
            #expect(throws: Failure.changed) { try file.checkUnchanged() }
        }
    }

    @Test func readsFromTheFrontToTheEnd() throws {
        let file = try SourceFile(SourcePlace(named: path, followsLink: true))
        #expect(file.size == 7)
        #expect(file.permissions == 0o644)
        #expect(file.modified == Timestamp(seconds: 1_000_000, nanoseconds: 0))
        var buffer = [UInt8](repeating: 0, count: 5)
        #expect(buffer.withUnsafeMutableBytes { file.peek(into: $0) } == 5)
        #expect(try buffer.withUnsafeMutableBytes { try file.read(into: $0) } == 5)
        #expect(buffer == Array("conte".utf8))
        #expect(try buffer.withUnsafeMutableBytes { try file.read(into: $0) } == 2)
        #expect(try buffer.withUnsafeMutableBytes { try file.read(into: $0) } == 0)
    }

    @Test func onlyRegularFilesAreOpened() throws {
        try Files.check(mkfifo(directory.path("fifo"), 0o600), "mkfifo")
        try Files.check(symlink("file", directory.path("link")), "symlink")
        for (name, code) in [
            ("fifo", ResultCode.sourceSkipped), (".", .sourceSkipped), ("link", .sourceUnreadable),
            ("none", .sourceUnreadable),
        ] {
            let failure = #expect(throws: Failure.self) {
                _ = try SourceFile(SourcePlace(named: directory.path(name), followsLink: false))
            }
            #expect(failure?.code == code, "\(name)")
        }
        _ = try SourceFile(SourcePlace(named: directory.path("link"), followsLink: true))
    }
}

extension Files {
    static func setTime(_ path: String, _ seconds: Int) throws {
        let times = [timespec(tv_sec: seconds, tv_nsec: 0), timespec(tv_sec: seconds, tv_nsec: 0)]
        try check(utimensat(AT_FDCWD, path, times, 0), "utimensat")
    }
}
