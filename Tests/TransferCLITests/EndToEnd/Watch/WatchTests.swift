import Glibc
import Testing
import TransferTestSupport

@Suite(.ownThreads) struct WatchTests {
    @Test func sendsWhatIsThereAndWhatAppears() throws {
        let server = try RunningServer()
        let card = try WatchedFolder(["a", "sub/b", "c.part"])
        let watch = try card.watching(server)
        try watch.waitForLines(2)
        try card.add("new/deep/d")
        try renameFile(card.path("c.part"), card.path("c"))
        try watch.waitForLines(4)
        try writeFile(card.path("a"), "changed".utf8)
        try watch.waitForLines(5)
        let end = try watch.stopped()
        #expect(end.end == .exited(0))
        #expect(server.visibleFiles == ["a", "a-1", "c", "new/deep/d", "sub/b"])
        #expect(try server.stored("a-1") == Array("changed".utf8))
        #expect(end.errors == "watching card, known to be stored: 0\nstopped: 5 stored, 49 B\n")
        #expect(end.lines.count == 5 && end.lines.allSatisfy { $0.hasPrefix("committed  card/") }, "\(end.output)")
    }

    /// A slow writer: the file is sent only when it is complete.
    @Test func sendsAFileWhenItRests() throws {
        let server = try RunningServer()
        let card = try WatchedFolder(["other0"])
        let watch = try card.watching(server, "--settle", "1s")
        try watch.waitForLines(1)
        let number = open(card.path("grows"), O_WRONLY | O_CREAT | O_CLOEXEC, 0o644)
        try #require(number >= 0)
        for count in 1...2 {
            #expect(write(number, "1", 1) == 1)
            try card.add("other\(count)")
            try watch.waitForLines(1 + count)
        }
        close(number)
        try watch.waitForLines(4)
        #expect(try watch.stopped().end == .exited(0))
        #expect(try server.stored("grows") == Array("11".utf8))
        #expect(server.visibleFiles == ["grows", "other0", "other1", "other2"])
    }

    /// Whole directories are added, removed, and added again under another name.
    @Test func followsDirectories() throws {
        let server = try RunningServer()
        let card = try WatchedFolder(["in/a"])
        let watch = try card.watching(server)
        try watch.waitForLines(1)
        try renameFile(card.path("in"), card.files.home.path("out"))
        try card.files.add("out/deep/b")
        try renameFile(card.files.home.path("out"), card.path("back"))
        try watch.waitForLines(3)
        try card.add("back/deep/c")
        try watch.waitForLines(4)
        #expect(try watch.stopped().end == .exited(0))
        #expect(server.visibleFiles == ["back/a", "back/deep/b", "back/deep/c", "in/a"])
    }

    /// All lines are objects like those of a push.
    @Test func json() throws {
        let server = try RunningServer()
        let card = try WatchedFolder(["a"])
        let watch = try card.watching(server, "--json")
        try watch.waitForLines(1)
        try card.add("b")
        try watch.waitForLines(2)
        let objects = try watch.stopped().objects()
        #expect(objects.map { $0["source"] } == ["card/a", "card/b"])
        #expect(objects.allSatisfy { $0["result"] == "committed" && $0["schema"] == "transfer.upload/1" })
        #expect(objects.allSatisfy { $0["sourceDeleted"] == "false" && $0["movedTo"] == "null" })
    }

    @Test func selectionAndFolder() throws {
        let server = try RunningServer()
        let card = try WatchedFolder(["a.jpg", "a.raw", "b.tmp", "c.part", ".transfer/x", "skip/d.jpg"])
        #expect(symlink("a.jpg", card.path("link.jpg")) == 0)
        try writeFile(card.path("skip/.transferignore"), "*\n".utf8)
        let address = server.address + "/camera"
        let once = try Finished(
            WatchedFolder.arguments(address) + ["--once", "--exclude", "*.raw", "--include", "*.part"],
            card.surroundings)
        #expect(once.end == .exited(0), "\(once.errors)")
        #expect(server.visibleFiles == ["camera/a.jpg", "camera/c.part"])
    }

    /// An ignore file applies from its creation until its removal.
    @Test func ignoreFilesThatChange() throws {
        let server = try RunningServer()
        let card = try WatchedFolder(["a"])
        let watch = try card.watching(server)
        try watch.waitForLines(1)
        try writeFile(card.path(".transferignore"), "*.raw\n".utf8)
        try watch.waitForLines(2)
        try card.add("b.raw")
        try card.add("c")
        try watch.waitForLines(3)
        #expect(server.visibleFiles == [".transferignore", "a", "c"])
        try writeFile(card.path(".transferignore"), "*.txt\n".utf8)
        try watch.waitForLines(5)
        #expect(try watch.stopped().end == .exited(0))
        #expect(server.visibleFiles.contains("b.raw"))
    }

    /// The conflict policies apply as they do for a push.
    @Test func conflictsAsAPushHasThem() throws {
        let server = try RunningServer()
        let card = try WatchedFolder(["a"])
        let watch = try card.watching(server, "--on-conflict", "overwrite")
        try watch.waitForLines(1)
        try writeFile(card.path("a"), "changed".utf8)
        try watch.waitForLines(2)
        _ = try watch.stopped()
        #expect(server.visibleFiles == ["a"])
        try writeFile(card.path("a"), "again changed".utf8)
        let skipped = try card.once(server, "--on-conflict", "skip")
        #expect(skipped.end == .exited(0) && skipped.output.hasPrefix("skipped"), "\(skipped.output)\(skipped.errors)")
        #expect(try server.stored("a") == Array("changed".utf8))
    }

    @Test func aFileThatIsRefusedHoldsNobodyUp() throws {
        let server = try RunningServer(["--max-upload", "10"])
        let card = try WatchedFolder(["a"])
        try writeFile(card.path("big"), [UInt8](repeating: 1, count: 11))
        let watch = try card.watching(server)
        try watch.waitForLines(1)
        try watch.waitForError("big")
        try card.add("b")
        try watch.waitForLines(2)
        try writeFile(card.path("big"), "small".utf8)
        try watch.waitForLines(3)
        let end = try watch.stopped()
        #expect(end.end == .exited(0))
        #expect(end.errors.split(separator: "\n").filter { $0.contains("big") }.count == 1, "\(end.errors)")
        #expect(try server.stored("big") == Array("small".utf8))
    }

    @Test func quietSaysNothing() throws {
        let server = try RunningServer()
        let card = try WatchedFolder(["a"])
        let once = try card.once(server, "--quiet")
        #expect(once.end == .exited(0) && once.output == "" && once.errors == "")
        #expect(server.visibleFiles == ["a"])
    }
}
