import Glibc
import Testing
import TransferTestSupport

/// Interrupted pushes, and the same command again.
@Suite(.ownThreads) struct ResumeTests {
    /// The size that is large enough to be interrupted depends on the machine.
    private static let sizes = [64 << 20, 256 << 20, 512 << 20]

    @Test(arguments: [["--lanes", "1"], ["--lanes", "4"], ["--compress", "zlib"], ["--compress", "zstd"]])
    func aKilledClientGoesOn(flags: [String]) throws {
        let sources = try TemporaryDirectory()
        for size in Self.sizes {
            let content = randomBytes(size, seed: UInt64(size))
            try writeFile(sources.path("big"), content)
            let server = try RunningServer()
            let push = try server.startPush([sources.path("big")] + flags)
            try server.waitForPart()
            push.signal(SIGKILL)
            guard try push.wait() == .killed(by: SIGKILL), server.visibleFiles.isEmpty else { continue }
            let again = try server.push([sources.path("big"), "--json"] + flags)
            #expect(again.end == .exited(0), "\(again.errors)")
            #expect(try again.object()["result"] == "committed")
            #expect(try server.stored("big") == content)
            #expect(server.visibleFiles == ["big"])
            guard server.program.errorText.contains("resumed big, of which up to ") else { continue }
            return
        }
        Issue.record("no upload was caught in the middle")
    }

    @Test func whoIsStoppedIsToldWhatIsKept() throws {
        let sources = try TemporaryDirectory()
        for size in Self.sizes {
            try writeFile(sources.path("big"), randomBytes(size, seed: UInt64(size)))
            let server = try RunningServer(["--expire-unfinished", "36h"])
            let push = try server.startPush([sources.path("big")])
            try server.waitForPart()
            push.signal(SIGINT)
            guard try push.wait() == .killed(by: SIGINT), server.visibleFiles.isEmpty else { continue }
            let sentence = "Nothing is acknowledged, and what has arrived is kept for 36 hours; to go on: "
            #expect(push.errorText.hasPrefix("transfer: The push was stopped. \(sentence)"), "\(push.errorText)")
            return
        }
        Issue.record("no upload was caught in the middle")
    }

    @Test func aSourceThatChangedStartsAnew() throws {
        let sources = try TemporaryDirectory()
        var content = randomBytes(200 << 20, seed: 9)
        try writeFile(sources.path("big"), content)
        let server = try RunningServer()
        let push = try server.startPush([sources.path("big")])
        try server.waitForPart()
        push.signal(SIGKILL)
        _ = try push.wait()
        content[77] ^= 1
        try writeFile(sources.path("big"), content)
        let again = try server.push([sources.path("big"), "--on-conflict", "overwrite"])
        #expect(again.end == .exited(0), "\(again.errors)")
        #expect(try server.stored("big") == content)
        #expect(!server.program.errorText.contains("resumed"))
    }
}

extension RunningServer {
    /// Waits until the server must have a whole block of an upload, or until the upload is stored. Each of four lanes
    /// can have an incomplete block. The file's size and allocated space tell nothing, because the server reserves both
    /// in advance.
    func waitForPart() throws {
        let size = 5 * 4 << 20
        let end = time(nil) + Program.patience
        while visibleFiles.isEmpty {
            let counts = try String(decoding: readFile("/proc/\(waitForWorker())/io"), as: UTF8.self)
            let written = counts.split(separator: "\n").first { $0.hasPrefix("wchar: ") }
            if let written = written.flatMap({ Int($0.dropFirst(7)) }), written >= size { return }
            guard time(nil) < end else { throw Impatience() }
            sched_yield()
        }
    }
}

private struct Impatience: Error {}
