import CLinux
import Glibc
import TransferModel
import TransferTestSupport

@testable import TransferClient

/// All events of a push of an archive.
struct Archived {
    var reports: [UploadReport] = []
    var failure: TransferFailure?
    var counted: [Int] = []
    var reconnects = 0
    var leftOut = LeftOut()

    init(
        _ uploads: [Upload], to address: ServerAddress, _ change: (inout ClientConfiguration) -> Void = { _ in }
    ) async throws {
        let configuration = ClientConfiguration.plain {
            $0.archives = true
            change(&$0)
        }
        let events = try TransferClient(server: address, configuration: configuration).push(uploads)
        do throws(TransferFailure) {
            for try await event in events {
                switch event {
                case .finished(let report): reports.append(report)
                case .counted(let files, _): counted.append(files)
                case .reconnecting: reconnects += 1
                case .connected, .notice, .progress, .known: break
                }
            }
        } catch {
            failure = error
        }
        leftOut = events.leftOut
    }

    /// Form, destination, result, and the stored path if it differs from the destination, sorted.
    var lines: [String] {
        reports.map { report in
            let place = report.storedPath.map { $0 == report.destination ? "" : " -> \($0)" } ?? ""
            return "\(report.form.rawValue) \(report.destination ?? report.source) \(report.result.name)\(place)"
        }.sorted()
    }

    var failures: [String] {
        reports.filter { !$0.result.isSuccess }.map { "\($0.source): \($0.result) \($0.message)" }
    }
}

/// A tree with entries of each kind, and the results of pushing and pulling it.
struct ArchiveSample {
    let here: TemporaryDirectory

    init() throws {
        here = try TemporaryDirectory()
    }

    var source: String { here.path("source") }
    var back: String { here.path("back") }

    func write(_ path: String, _ content: [UInt8]) throws { try Files.write("\(source)/\(path)", content) }

    func age(_ place: String, _ seconds: Int = 1_234_567_890) {
        var times = [timespec(tv_sec: seconds, tv_nsec: 5), timespec(tv_sec: seconds, tv_nsec: 123_456_789)]
        guard utimensat(AT_FDCWD, place, &times, AT_SYMLINK_NOFOLLOW) == 0 else { preconditionFailure("utimensat") }
    }

    func attribute(_ place: String, _ name: String, _ value: [CChar]) throws {
        let file = open(place, O_RDONLY)
        defer { close(file) }
        try Files.check(clinux_fsetxattr(file, name, value, value.count), "fsetxattr")
    }

    /// Makes folders (one empty, one read-only), links of all kinds, hard links and odd names.
    func make() throws {
        try write("a", [1, 2, 3])
        try write("empty", [])
        try write("d/e/f", SplitMix64.bytes(seed: 1, 70_000))
        try write("d/long", SplitMix64.bytes(seed: 2, Limits.blockSize + 77))
        try write("line\nfeed 😀/e\u{301}", [7])
        try write("line\nfeed 😀/\u{E9}", [8])
        try write("closed/in", [9])
        try Files.makeDirectory("\(source)/hollow/inner")
        try Files.check(symlink("a", "\(source)/link"), "symlink")
        try Files.check(symlink("/nowhere/at all", "\(source)/d/dangling"), "symlink")
        try Files.check(symlink("..", "\(source)/d/loop"), "symlink")
        try Files.check(link("\(source)/a", "\(source)/d/other-name"), "link")
        try Files.check(link("\(source)/d/e/f", "\(source)/z"), "link")
        try Files.check(chmod("\(source)/a", 0o604), "chmod")
        try Files.check(chmod("\(source)/empty", 0o777), "chmod")
        try Files.check(chmod("\(source)/hollow", 0o750), "chmod")
        try attribute("\(source)/d/long", "user.origin", [1, 2, 0, 3])
        try attribute("\(source)/hollow", "user.folder", [4])
        for path in ["a", "empty", "link", "d/e/f", "d/dangling", "hollow/inner", "hollow", "d/e", "d"] {
            age("\(source)/\(path)")
        }
        try Files.check(chmod("\(source)/closed", 0o555), "chmod")
        age("\(source)/closed")
        age(source, 1_000_000_000)
    }

    func push(
        _ server: RunningServer, _ change: (inout ClientConfiguration) -> Void = { _ in }
    ) async throws -> Archived {
        try await Archived([.path(source, name: "copy")], to: server.address, change)
    }

    func pull(
        _ server: RunningServer, _ change: (inout ClientConfiguration) -> Void = { _ in }
    ) async throws -> Pulled {
        try await Pulled([Download("copy", name: "source")], from: server.address, to: back) {
            $0.archives = true
            change(&$0)
        }
    }

    func stored(_ server: RunningServer) -> [String] { TreeFacts(server.directory.path("store/copy")).lines }

    /// Makes folders writable so that the test's directory can be removed.
    func reopen(_ paths: String...) {
        for path in paths { chmod(path, 0o755) }
    }
}

/// All entries below a directory, with a slash behind folders; links are not followed.
func entries(below top: String, _ folder: String = "") -> [String] {
    names(in: "\(top)/\(folder)").sorted().flatMap { name in
        let path = "\(folder)\(name)"
        return isDirectory("\(top)/\(path)") ? ["\(path)/"] + entries(below: top, "\(path)/") : [path]
    }
}
