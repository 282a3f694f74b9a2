import Glibc
import Testing
import TransferModel
import TransferTestSupport

@Suite(.ownThreads) struct WatchOnceTests {
    @Test func sendsAndEnds() throws {
        let server = try RunningServer()
        let card = try WatchedFolder(["a", "b/c"])
        let first = try card.once(server)
        #expect(first.end == .exited(0) && first.lines.count == 2, "\(first.errors)")
        #expect(first.errors == "watching card, known to be stored: 0\ndone: 2 stored, 14 B\n")
        let second = try card.once(server)
        #expect(second.end == .exited(0) && second.output == "")
        #expect(second.errors == "watching card, known to be stored: 2\ndone: 0 stored, 0 B\n")
    }

    /// With cron, an empty directory is no failure.
    @Test func anEmptyDirectoryIsNoFailure() throws {
        let server = try RunningServer()
        let card = try WatchedFolder()
        #expect(try card.once(server).end == .exited(0))
    }

    @Test func saysWhatWasNotSent() throws {
        let server = try RunningServer(["--max-upload", "10"])
        let card = try WatchedFolder(["a"])
        try writeFile(card.path("big"), [UInt8](repeating: 1, count: 11))
        let once = try card.once(server)
        #expect(once.end == .exited(1))
        #expect(once.lines.count == 1 && once.errors.contains("card/big"), "\(once.errors)")
        #expect(once.errors.hasSuffix("done: 1 stored, 6 B, 1 not sent\n"), "\(once.errors)")
    }

    /// A program that was killed while it removed a source may have left the file under another name.
    @Test func saysWhatAKilledRemovalHasLeft() throws {
        let server = try RunningServer()
        let card = try WatchedFolder([".transfer-witness-0123456789abcdef0123456789abcdef-a"])
        for flags in [[], ["--delete-source"]] {
            let once = try Finished(
                WatchedFolder.arguments(server.address) + ["--once"] + flags, card.surroundings)
            #expect(
                once.end == .exited(1) && once.errors.contains("-a: It has a temporary name that 'transfer' gives"),
                "\(once.errors)")
        }
        #expect(card.names.count == 1 && server.visibleFiles == [])
    }

    @Test func aServerThatIsNotThere() throws {
        let card = try WatchedFolder(["a"])
        let server = try RunningServer()
        let address = server.address
        server.program.signal(SIGKILL)
        _ = try server.program.wait()
        let once = try Finished(
            WatchedFolder.arguments(address) + ["--once", "--retry-for", "0s"], card.surroundings)
        #expect(once.end == .exited(3), "\(once.errors)")
        #expect(once.errors.contains("transfer: Cannot reach \(address): "))
    }

    @Test func aDirectoryThatIsNone() throws {
        let server = try RunningServer()
        let card = try WatchedFolder(["a"])
        func watch(_ path: String, _ flags: String...) throws -> Finished {
            try Finished(["watch", path, "--to", server.address, "--plaintext"] + flags, card.surroundings)
        }
        let none = try watch("nowhere", "--once")
        #expect(none.end == .exited(1))
        #expect(none.errors.hasPrefix("transfer: There is no directory 'nowhere'.\n"), "\(none.errors)")
        let file = try watch("card/a")
        #expect(file.end == .exited(1))
        let sentence = "transfer: 'card/a' is a file; give the directory that it is in.\n"
        #expect(file.errors.hasPrefix(sentence), "\(file.errors)")
    }

    @Test func programsLearnWhyNothingWasDone() throws {
        let peer = try FakeServer()
        peer.refuse()
        let card = try WatchedFolder(["a"])
        let schema = try DocumentedSchema()
        for (path, reason) in [("card", "unreachable"), ("nowhere", "rejected"), ("card/a", "rejected")] {
            let once = try Finished(
                ["watch", path, "--once", "--json", "--plaintext", "--to", peer.address, "--retry-for", "0s"],
                card.surroundings)
            let line = try #require(once.lines.count == 1 ? once.lines[0] : nil, "\(once.output) \(once.errors)")
            #expect(try schema.matches(JSONReader.read(Array(line.utf8))) == ["failure"])
            #expect(try once.object()["reason"] == reason, "\(once.output)")
            // Without files there is no summary.
            #expect(!once.errors.contains(" stored, "), "\(once.errors)")
        }
    }

    /// A stopped run has not finished its work, so it ends by the signal and names the command to continue.
    @Test func stoppedBeforeItsEnd() throws {
        let (peer, card) = (try FakeServer(), try WatchedFolder(["a"]))
        let watch = try Program(WatchedFolder.arguments(peer.address) + ["--once"], card.surroundings)
        let connection = try peer.accept()
        try watch.waitForError("watching ")
        watch.signal(SIGINT)
        let end = try Finished(watch)
        #expect(end.end == .killed(by: SIGINT))
        let sentence = "\ntransfer: The watch was stopped. Nothing is acknowledged; to go on: "
        #expect(end.errors.contains(sentence) && !end.errors.contains(" stored, "), "\(end.errors)")
        connection.close()
    }

    @Test func flagsThatExcludeEachOther() throws {
        let server = try RunningServer()
        let card = try WatchedFolder(["a"])
        let both = try card.once(server, "--delete-source", "--move-to", "done")
        #expect(both.end == .exited(2))
        #expect(both.errors.contains("--delete-source and --move-to exclude each other"))
        #expect(try card.once(server, "--settle", "0").end == .exited(2))
        #expect(card.names == ["a"] && server.visibleFiles == [])
    }
}
