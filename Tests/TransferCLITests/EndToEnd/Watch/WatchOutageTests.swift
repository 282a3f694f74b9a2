import Glibc
import Testing
import TransferTestSupport

/// Failures while a watch runs.
@Suite(.ownThreads) struct WatchOutageTests {
    @Test func asksOnlyAboutWhatIsNewWhenItWasKilled() throws {
        let server = try RunningServer()
        let card = try WatchedFolder(["a", "b"])
        let first = try card.watching(server)
        try first.waitForLines(2)
        first.signal(SIGKILL)
        #expect(try first.wait() == .killed(by: SIGKILL))
        try card.add("c")
        let second = try card.once(server)
        #expect(second.lines.count == 1 && second.output.hasPrefix("committed  card/c"), "\(second.output)")
        #expect(second.errors.hasPrefix("watching card, known to be stored: 2\n"))
        #expect(server.visibleFiles == ["a", "b", "c"])
    }

    /// Without its journal, a watch asks the server about every file and stores nothing twice.
    @Test(arguments: [nil, "garbage\n", ""] as [String?]) func withoutItsJournal(_ content: String?) throws {
        let server = try RunningServer()
        let card = try WatchedFolder(["a", "b"])
        #expect(try card.once(server).end == .exited(0))
        let journal = try #require(names(in: card.journals).first).description
        if let content {
            try writeFile("\(card.journals)/\(journal)", content.utf8)
        } else {
            unlink("\(card.journals)/\(journal)")
        }
        let again = try card.once(server)
        #expect(again.lines.count == 2 && again.lines.allSatisfy { $0.hasPrefix("alreadyStored") }, "\(again.output)")
        #expect(again.errors.hasSuffix("done: 0 stored, 0 B, 2 there already\n"), "\(again.errors)")
        #expect(server.visibleFiles == ["a", "b"])
        #expect(try card.once(server).output == "")
    }

    @Test func onlyOneSendsADirectory() throws {
        let server = try RunningServer()
        let card = try WatchedFolder()
        let first = try card.watching(server)
        let second = try card.once(server)
        #expect(second.end == .exited(1))
        #expect(
            second.errors.hasPrefix("transfer: Another 'transfer watch' of this user sends 'card'"), "\(second.errors)")
        let elsewhere = try Finished(
            WatchedFolder.arguments(server.address + "/other") + ["--once"], card.surroundings)
        #expect(elsewhere.end == .exited(0), "\(elsewhere.errors)")
        #expect(try first.stopped().end == .exited(0))
    }

    /// The watch reports once that the server is unreachable, and once that it is back.
    @Test func aServerThatIsAway() throws {
        let server = try RunningServer()
        let card = try WatchedFolder(["a"])
        let watch = try card.watching(server)
        try watch.waitForLines(1)
        server.program.signal(SIGTERM)
        _ = try server.program.wait()
        try card.add("b")
        try watch.waitForError("no connection: ")
        try card.add("c")
        let back = try server.restarted()
        try watch.waitForLines(3)
        try watch.waitForError("connected again after ")
        let end = try watch.stopped()
        #expect(end.end == .exited(0))
        #expect(end.errors.split(separator: "\n").count == 4, "\(end.errors)")
        #expect(back.visibleFiles == ["a", "b", "c"])
    }

    @Test func aServerThatIsNotThereYet() throws {
        let server = try RunningServer()
        let card = try WatchedFolder(["a"])
        server.program.signal(SIGKILL)
        _ = try server.program.wait()
        let watch = try card.watching(server)
        try watch.waitForError("no connection: ")
        let back = try server.restarted()
        try watch.waitForLines(1)
        #expect(try watch.stopped().end == .exited(0))
        #expect(back.visibleFiles == ["a"])
    }

    /// More events happen than the kernel queues for a suspended process.
    @Test func eventsThatAreLost() throws {
        let server = try RunningServer()
        let card = try WatchedFolder(["a"])
        let watch = try card.watching(server)
        try watch.waitForLines(1)
        watch.signal(SIGSTOP)
        let queue = try readFile("/proc/sys/fs/inotify/max_queued_events")
        let limit = try #require(Int(String(decoding: queue, as: UTF8.self).filter(\.isNumber)))
        try card.add("b.tmp")
        for _ in 0...limit / 4 {
            try renameFile(card.path("b.tmp"), card.path("c.tmp"))
            try renameFile(card.path("c.tmp"), card.path("b.tmp"))
        }
        try card.add("new/deep/d")
        watch.signal(SIGCONT)
        try watch.waitForLines(2)
        // The watch now also watches the directories whose events were lost.
        try card.add("new/deep/e")
        try watch.waitForLines(3)
        #expect(try watch.stopped().end == .exited(0))
        #expect(server.visibleFiles == ["a", "new/deep/d", "new/deep/e"])
    }

    /// A removed directory removes no files on the server, and a new one may have the inode number of the old one.
    @Test func aDirectoryThatIsRemovedAndMadeAgain() throws {
        let server = try RunningServer()
        let card = try WatchedFolder(["a"])
        let watch = try card.watching(server, "--delete-source")
        try watch.waitForLines(1)
        #expect(rmdir(card.path) == 0)
        try watch.waitForError("card does not exist; waiting for it\n")
        try card.add("b")
        try watch.waitForLines(2)
        #expect(rmdir(card.path) == 0)
        try card.add("c")
        try watch.waitForLines(3)
        try card.add("d")
        try watch.waitForLines(4)
        #expect(try watch.stopped().end == .exited(0))
        #expect(server.visibleFiles == ["a", "b", "c", "d"])
    }

    /// The directory under the removed mount is not the card, whatever it contains.
    @Test func aCardThatIsTakenOut() throws {
        let server = try RunningServer()
        let card = try WatchedFolder(["below"])
        TemporaryDirectory.remove(card.path)
        var inside: SmallFileSystem? = SmallFileSystem(card.path)
        guard inside != nil else { return }
        try card.add("a")
        let watch = try card.watching(server)
        try watch.waitForLines(1)
        // The watch keeps no file on the card open, but it may be reading the directory just now.
        var attempts = 0
        while umount2(card.path, 0) != 0, attempts < 100_000 { attempts += 1 }
        #expect(attempts < 100_000)
        inside = nil
        try card.add("below")
        try watch.waitForError("card does not exist; waiting for it\n")
        TemporaryDirectory.remove(card.path)
        inside = SmallFileSystem(card.path)
        try card.add("b")
        try watch.waitForLines(2)
        #expect(try watch.stopped().end == .exited(0))
        #expect(server.visibleFiles == ["a", "b"])
        withExtendedLifetime(inside) {}
    }

    /// Runs in a separate namespace, in which the kernel allows three watches.
    @Test func tooFewWatches() throws {
        let server = try RunningServer()
        let card = try WatchedFolder((0..<8).map { "\($0)/a" })
        var surroundings = card.surroundings
        let program = try Spawner.executable()
        surroundings.executable = "/usr/bin/unshare"
        let script = "echo 3 > /proc/sys/user/max_inotify_watches && exec \"$0\" \"$@\" || exit 99"
        let arguments = ["-Ur", "/bin/sh", "-c", script, program] + WatchedFolder.arguments(server.address)
        let watch = try Program(arguments, surroundings)
        guard (try? watch.waitForError("watching card")) != nil else {
            print("skipped \(#function): there are no user namespaces")
            return
        }
        try watch.waitForLines(8)
        let end = try watch.stopped()
        #expect(end.end == .exited(0))
        #expect(end.errors.contains("Raise fs.inotify.max_user_watches with sysctl(8)\n"), "\(end.errors)")
        #expect(end.errors.split(separator: "\n").count == 3, "\(end.errors)")
        #expect(server.visibleFiles.count == 8)
    }
}
