import Glibc
import Testing
import TransferTestSupport

@Suite(.ownThreads) struct WatchSourcesTests {
    @Test func deletesWhatIsStored() throws {
        let server = try RunningServer()
        let card = try WatchedFolder(["a", "sub/b"])
        let watch = try card.watching(server, "--delete-source", "--json")
        try watch.waitForLines(2)
        try card.add("sub/c")
        try watch.waitForLines(3)
        let end = try watch.stopped()
        #expect(try end.objects().allSatisfy { $0["sourceDeleted"] == "true" })
        #expect(card.names == [] && isDirectory(card.path("sub")))
        #expect(server.visibleFiles == ["a", "sub/b", "sub/c"])
    }

    /// A watch that was killed between the acknowledgement and the removal has left the file.
    @Test func deletesWhatWasStoredBefore() throws {
        let server = try RunningServer()
        let card = try WatchedFolder(["a"])
        #expect(try card.once(server).end == .exited(0))
        #expect(try card.once(server, "--delete-source").end == .exited(0))
        #expect(card.names == [] && server.visibleFiles == ["a"])
    }

    /// The watch also sends what another program writes later through a descriptor that it has kept open.
    @Test func keepsWhatSomebodyMayWriteTo() throws {
        let server = try RunningServer()
        let card = try WatchedFolder(["a"])
        let writer = open(card.path("a"), O_WRONLY | O_APPEND | O_CLOEXEC)
        let watch = try card.watching(server, "--delete-source")
        try watch.waitForError("not removed  card/a: A program has it open for writing.")
        #expect(card.names == ["a"])
        #expect(write(writer, "more", 4) == 4 && close(writer) == 0)
        try watch.waitForLines(2)
        #expect(try watch.stopped().end == .exited(0) && card.names == [])
        #expect(try server.stored("a-1") == Array("card/amore".utf8))
    }

    /// The other program writes no more.
    @Test func deletesWhatNobodyWritesToAnyMore() throws {
        let server = try RunningServer()
        let card = try WatchedFolder(["a"])
        let writer = open(card.path("a"), O_WRONLY | O_APPEND | O_CLOEXEC)
        let once = try card.once(server, "--delete-source")
        #expect(once.end == .exited(1) && card.names == ["a"], "\(once.errors)")
        let watch = try card.watching(server, "--delete-source", "--json")
        try watch.waitForLines(1)
        #expect(card.names == ["a"] && close(writer) == 0)
        try watch.waitForLines(2)
        #expect(try watch.stopped().objects().last?["sourceDeleted"] == "true" && card.names == [])
        #expect(server.visibleFiles == ["a"])
    }

    /// The server has reported that the file is not durable.
    @Test func keepsWhatIsNotSafe() throws {
        let server = try RunningServer(["--durability", "none"])
        let card = try WatchedFolder(["a"])
        let once = try card.once(server, "--delete-source")
        #expect(once.end == .exited(1) && once.errors.contains("not removed  card/a: "), "\(once.errors)")
        #expect(card.names == ["a"])
    }

    @Test func movesWhatIsStoredAndReplacesNothing() throws {
        let server = try RunningServer()
        let card = try WatchedFolder(["a.jpg", "sub/b"])
        let watch = try card.watching(server, "--move-to", "card/done")
        try watch.waitForLines(2)
        try writeFile(card.path("a.jpg"), "another".utf8)
        try watch.waitForLines(3)
        let end = try watch.stopped()
        #expect(card.names == ["done/a-1.jpg", "done/a.jpg", "done/sub/b"])
        #expect(try readFile(card.path("done/a-1.jpg")) == Array("another".utf8))
        #expect(server.visibleFiles == ["a-1.jpg", "a.jpg", "sub/b"])
        #expect(end.output.contains("  moved to \(card.path("done/a-1.jpg"))\n"), "\(end.output)")
    }

    @Test func saysWhereItWasMovedTo() throws {
        let server = try RunningServer()
        let card = try WatchedFolder(["a"])
        let object = try card.once(server, "--move-to", "done", "--json").object()
        #expect(object["movedTo"] == card.files.home.path("done/a") && object["sourceDeleted"] == "false")
    }

    @Test func placesThatNothingCanBeMovedTo() throws {
        let server = try RunningServer()
        let card = try WatchedFolder(["a"])
        let above = try Finished(
            WatchedFolder.arguments(server.address) + ["--move-to", "."], card.surroundings)
        #expect(above.end == .exited(1))
        #expect(above.errors.contains("is the watched directory, or contains it."), "\(above.errors)")
        guard let other = SmallFileSystem(card.files.home.path("other")) else { return }
        let far = try card.once(server, "--move-to", "\(other.path)/done")
        #expect(far.end == .exited(1) && far.errors.contains("is on another file system"), "\(far.errors)")
        #expect(card.names == ["a"] && server.visibleFiles == [])
    }
}
