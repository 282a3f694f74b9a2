import Glibc
import Testing
import TransferTestSupport

@Suite(.ownThreads) struct ReceiptCommandTests {
    @Test func verifiesWhatAPushKept() throws {
        let pushed = try Pushed()
        #expect(try pushed.lines.count == Pushed.names.count)
        let verified = try pushed.verify([])
        #expect(verified.end == .exited(0))
        #expect(verified.output.contains("\(Pushed.names.count) good") && verified.output.contains(pushed.fingerprint))
        for key in [pushed.fingerprint, try pushed.key] {
            #expect(try pushed.verify(["--key", key]).end == .exited(0), "\(key)")
        }
        #expect(try pushed.verify(["--against", pushed.server.directory]).end == .exited(0))
        #expect(try pushed.verify(["--quiet"]).output == "")
    }

    @Test func refusesReceiptsOfAnotherServer() throws {
        let (pushed, other) = (try Pushed(), try RunningServer())
        let verified = try pushed.verify(["--key", Pushed.fingerprint(of: other)])
        #expect(verified.end == .exited(1))
        #expect(verified.lines.count { $0.contains("another server") } == Pushed.names.count)
    }

    @Test func findsWhatIsNotAsTheReceiptSays() throws {
        let pushed = try Pushed()
        let directory = pushed.server.directory
        try writeFile("\(directory)/in/a", [1])
        var long = try readFile("\(directory)/in/long")
        long[9_000_000] ^= 1
        try writeFile("\(directory)/in/long", long)
        unlink("\(directory)/in/odd \"name\"\n")
        let verified = try pushed.verify(["--against", directory])
        #expect(verified.end == .exited(1))
        #expect(verified.output.contains("in/a: it has 1 bytes"))
        #expect(verified.output.contains("in/long: it has other content"))
        #expect(verified.output.contains("in/odd \"name\"\\n: it is not there"))
        #expect(verified.output.contains("3 bad"))
    }

    @Test func comparesOneFile() throws {
        let pushed = try Pushed()
        let line = try #require(pushed.lines.first { $0.contains("\"path\":\"in/a\"") })
        let one = pushed.home.path("one.jsonl")
        try writeFile(one, "\(line)\n".utf8)
        #expect(
            try Finished(["receipt", "verify", one, "--against", "\(pushed.server.directory)/in/a"]).end == .exited(0))
        let other = try Finished(["receipt", "verify", one, "--against", "\(pushed.server.directory)/in/long"])
        #expect(other.end == .exited(1))
    }

    @Test func findsEveryBadLine() throws {
        let pushed = try Pushed()
        var lines = try pushed.lines.map(String.init)
        lines[1] = lines[1].replacingFirst("\"size\":", "\"size\":1")
        lines.append("{}")
        try writeFile(pushed.receipts, (lines.joined(separator: "\n") + "\n").utf8)
        let verified = try pushed.verify([])
        #expect(verified.end == .exited(1))
        #expect(verified.output.contains(":2: "))
        #expect(verified.output.contains(":\(lines.count): not a receipt"))
        #expect(verified.output.contains("2 bad"))
    }

    @Test func readsStandardInputAndNothingIsNotGood() throws {
        let pushed = try Pushed()
        var surroundings = Surroundings()
        surroundings.input = .file(pushed.receipts)
        #expect(try Finished(["receipt", "verify", "-"], surroundings).end == .exited(0))
        let nothing = try Finished(["receipt", "verify", "-"])
        #expect(nothing.end == .exited(1) && nothing.output == "there is no receipt\n")
        let missing = try Finished(["receipt", "verify", "/nowhere"])
        #expect(missing.end == .exited(1) && missing.errors == "transfer: /nowhere: No such file or directory\n")
        let content = try Finished(["receipt", "verify", pushed.receipts, "--against", "/nowhere"])
        #expect(content.end == .exited(1) && content.errors == "transfer: /nowhere: No such file or directory\n")
    }

    @Test func showsWhatTheySay() throws {
        let pushed = try Pushed()
        let shown = try Finished(["receipt", "show", pushed.receipts])
        #expect(shown.end == .exited(0))
        #expect(shown.output.contains("in/odd \"name\"\\n") && shown.output.contains(pushed.fingerprint))
        let json = try Finished(["receipt", "show", "--json", pushed.receipts])
        #expect(try Array(json.output.utf8) == readFile(pushed.receipts))
        try writeFile(pushed.receipts, "x\n".utf8)
        let bad = try Finished(["receipt", "show", pushed.receipts])
        #expect(bad.end == .exited(1) && bad.errors.contains(":1: not a receipt"))
    }

    @Test func pushesAppend() throws {
        let pushed = try Pushed()
        let first = try readFile(pushed.receipts)
        // A killed push leaves such a partial line.
        try writeFile(pushed.receipts, first + Array("{\"receipt\"".utf8))
        #expect(try pushed.server.push([photo, "--receipts", pushed.receipts]).end == .exited(0))
        let all = try readFile(pushed.receipts)
        #expect(all.starts(with: first + Array("{\"receipt\"\n{\"receipt\":{".utf8)) && all.last == UInt8(ascii: "\n"))
    }

    @Test func aFileThatCannotBeOpenedStopsThePush() throws {
        let server = try RunningServer()
        let push = try server.push([photo, "--receipts", "/nowhere/receipts"])
        #expect(push.end == .exited(2) && push.errors.contains("'/nowhere/receipts'"))
        #expect(server.visibleFiles.isEmpty)
    }

    @Test func receiptsThatCannotBeKeptAreAFailure() throws {
        let server = try RunningServer()
        let push = try server.push([photo, "--receipts", "/dev/full"])
        #expect(push.end == .exited(1) && push.errors.contains("cannot write the receipts"))
        #expect(server.visibleFiles == ["demo.png"])
    }

    @Test func aServerWithoutDurabilityGivesNone() throws {
        let server = try RunningServer(["--durability", "none"])
        let push = try server.push([photo, "--receipts", server.home.path("receipts")])
        #expect(push.end == .exited(5) && push.errors.contains("gives no receipts"))
        #expect(server.visibleFiles.isEmpty)
    }

    @Test(arguments: [
        ["receipt"], ["receipt", "frobnicate"], ["receipt", "verify"], ["receipt", "show"],
        ["receipt", "show", "a", "b"],
        ["receipt", "verify", "a", "--key", "x"],
    ]) func refusesAWrongCommandLine(_ arguments: [String]) throws {
        #expect(try Finished(arguments).end == .exited(2))
    }
}

extension String {
    /// Replaces the first occurrence, without Foundation.
    fileprivate func replacingFirst(_ text: String, _ other: String) -> String {
        let parts = split(separator: text, maxSplits: 1, omittingEmptySubsequences: false)
        return parts.joined(separator: other)
    }
}
