import Glibc
import Testing
import TransferKeys
import TransferReceipts
import TransferTestSupport

@Suite(.ownThreads) struct DeliveryReceiptCommandTests {
    @Test func verifiesWhatTheRecipientSigned() throws {
        let delivered = try Delivered()
        let fingerprint = delivered.key.key.fingerprint
        let verified = try delivered.verify([])
        #expect(verified.end == .exited(0))
        #expect(verified.output == "signed by \(fingerprint) as bob: 3\n3 good\n")
        for key in [fingerprint, delivered.key.key.hexadecimal] {
            #expect(try delivered.verify(["--key", key]).output == "3 good\n")
        }
        let other = try delivered.verify(["--key", KeyPair().key.fingerprint])
        #expect(other.end == .exited(1))
        #expect(other.lines.count { $0.contains("signed by another recipient, \(fingerprint)") } == 3)
        let json = try delivered.verify(["--json"])
        #expect(
            json.output == #"{"schema":"transfer.receipt-check/1","good":3,"bad":0,"contentCompared":false,"#
                + #""servers":[],"recipients":[{"name":"bob","key":"\#(fingerprint)","receipts":3}]}"# + "\n")
    }

    /// The recipient has the content of the sender's own files.
    @Test func comparesWhatWasSent() throws {
        let delivered = try Delivered()
        let here = ["--against", delivered.home.path]
        #expect(try delivered.verify(here).output.hasSuffix("3 good, and the content is as they say\n"))
        var photo = try readFile(delivered.home.path("in/photo.png"))
        photo[50] ^= 1
        try writeFile(delivered.home.path("in/photo.png"), photo)
        unlink(delivered.home.path("odd \"name\"\n"))
        let verified = try delivered.verify(here)
        #expect(verified.end == .exited(1))
        #expect(verified.output.contains("sent.jsonl:2: in/photo.png: it has other content: xxh128:"))
        #expect(verified.output.contains("sent.jsonl:3: odd \"name\"\\n: it is not there"))
        #expect(verified.output.contains("1 good, and the content is as they say, 2 bad"))
        let one = delivered.home.path("one.jsonl")
        try writeFile(one, "\(try delivered.lines[0])\n".utf8)
        let file = delivered.home.path("a")
        #expect(try Finished(["receipt", "verify", one, "--against", file]).end == .exited(0))
        #expect(try Finished(["receipt", "verify", one, "--against", one]).end == .exited(1))
    }

    @Test func aFileHasReceiptsOfBothKinds() throws {
        let (delivered, pushed) = (try Delivered(), try Pushed())
        let mixed = try readFile(delivered.receipts) + readFile(pushed.receipts) + readFile(delivered.receipts)
        let file = delivered.home.path("mixed.jsonl")
        try writeFile(file, mixed)
        let verified = try Finished(["receipt", "verify", file])
        let (bob, server) = (delivered.key.key.fingerprint, pushed.fingerprint)
        #expect(verified.end == .exited(0))
        #expect(verified.output == "signed by \(server): 5\nsigned by \(bob) as bob: 6\n11 good\n")
        #expect(try Finished(["receipt", "verify", file, "--key", bob]).output.hasSuffix("6 good, 5 bad\n"))
        #expect(try Finished(["receipt", "verify", file, "--key", server]).output.hasSuffix("5 good, 6 bad\n"))
        #expect(try Array(Finished(["receipt", "show", "--json", file]).output.utf8) == mixed)
        let shown = try Finished(["receipt", "show", file])
        #expect(shown.end == .exited(0))
        #expect(shown.lines.count { $0.hasPrefix("receipt ") } == 5)
        #expect(shown.lines.count { $0.hasPrefix("bob has received ") } == 6)
    }

    @Test func showsWhatTheySay() throws {
        let delivered = try Delivered(to: "b\u{1B}b", server: ServerKey.none)
        let shown = try Finished(["receipt", "show", delivered.receipts])
        #expect(shown.end == .exited(0))
        #expect(shown.output.hasPrefix("b\\u{1b}b has received a from alice\n  size    100 bytes\n  digest  xxh128:"))
        #expect(shown.output.contains("has received odd \"name\"\\n from alice\n"))
        #expect(shown.output.contains("\n  server  without a key\n"))
        #expect(shown.output.contains("\n  signed  by \(delivered.key.key.fingerprint), as 2 of 3\n"))
        #expect(shown.output.contains("\n  time    2026-01-01T00:00:00.500Z\n"))
    }

    /// Anyone can make a key and sign receipts in any name with it. The output shows the key.
    @Test func aNameThatIsClaimedHasItsOwnKey() throws {
        let (delivered, other) = (try Delivered(), try Delivered())
        try writeFile(delivered.receipts, readFile(delivered.receipts) + readFile(other.receipts))
        let verified = try delivered.verify([])
        let keys = [delivered, other].map(\.key.key).sorted { $0.hexadecimal < $1.hexadecimal }
        #expect(verified.output == keys.map { "signed by \($0.fingerprint) as bob: 3\n" }.joined() + "6 good\n")
        // A changed receipt counts for no key.
        let line = try String(delivered.lines[0])
        let parts = line.split(separator: "\"alice\"", maxSplits: 1)
        try writeFile(delivered.receipts, (parts.joined(separator: "\"carol\"") + "\n").utf8)
        let changed = try delivered.verify([])
        #expect(changed.end == .exited(1))
        #expect(changed.output.contains(":1: not signed by the key that it names, or changed after it was signed\n"))
        #expect(changed.output.hasSuffix("0 good, 1 bad\n") && !changed.output.contains(" as bob"))
    }
}

extension PublicKey {
    /// Stands for the key of a server that has none.
    fileprivate static var none: PublicKey { PublicKey(Bytes32()) }
}
