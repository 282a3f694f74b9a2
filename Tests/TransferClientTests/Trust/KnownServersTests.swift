import CLinux
import Glibc
import Testing
import TransferClient
import TransferKeys
import TransferTestSupport

/// Entries that servers add for the clients of their user.
@Suite struct KnownServersTests {
    private let home: TemporaryDirectory
    private let known: KnownServers
    private let first = KeyFingerprint(of: [1])
    private let second = KeyFingerprint(of: [2])

    init() throws {
        home = try TemporaryDirectory()
        known = KnownServers(path: home.path("transfer/known_servers"))
    }

    @Test func aServerReplacesWhatServersWrote() throws {
        #expect(try known.addOwn(first, at: ["a:1", "b:1"]) == [])
        #expect(try known.addOwn(second, at: ["b:1", "c:1"]) == [])
        #expect(try known.entries() == [entry("a:1", first), entry("b:1", second), entry("c:1", second)])
        #expect(try known.fingerprint(of: "b:1") == second)
    }

    /// Two different paths of sockets can be equal as Unicode strings.
    @Test func addressesThatLookAlikeAreTwo() throws {
        let (one, other) = ("unix:/\u{E9}", "unix:/e\u{301}")
        try known.add(KnownServers.Entry(address: one, fingerprint: first))
        #expect(try known.fingerprint(of: other) == nil)
        try known.add(KnownServers.Entry(address: other, fingerprint: second))
        #expect(try known.fingerprint(of: one) == first && known.fingerprint(of: other) == second)
        #expect(try known.remove(one))
        #expect(try known.fingerprint(of: other) == second)
    }

    @Test func andNothingElse() throws {
        try known.add(KnownServers.Entry(address: "a:1", fingerprint: first))
        try known.add(KnownServers.Entry(address: "b:1", fingerprint: second))
        let before = try known.entries()
        #expect(try known.addOwn(second, at: ["a:1", "b:1"]) == [before[0]])
        #expect(try known.entries() == before)
        #expect(try known.addOwn(second, at: ["c:1", "a:1"]) == [before[0]])
        #expect(try known.entries() == before + [entry("c:1", second)])
    }

    @Test func whatTheUserSaysTakesALineOver() throws {
        _ = try known.addOwn(first, at: ["a:1"])
        try known.add(KnownServers.Entry(address: "a:1", fingerprint: second))
        #expect(try known.addOwn(first, at: ["a:1"]).map(\.fingerprint) == [second])
    }

    @Test func anUnchangedListIsNotWritten() throws {
        _ = try known.addOwn(first, at: ["a:1"])
        var (before, after) = (stat(), stat())
        stat(known.path, &before)
        _ = try known.addOwn(first, at: ["a:1"])
        stat(known.path, &after)
        #expect(before.st_ino == after.st_ino)
    }

    /// A server that listens on another port each time does not fill the list.
    @Test func oldOnesGo() throws {
        try known.add(KnownServers.Entry(address: "z:1", fingerprint: first))
        for port in 1...80 { _ = try known.addOwn(first, at: ["a:\(port)", "b:\(port)"]) }
        let entries = try known.entries()
        #expect(entries.count == 65 && entries.contains { $0.address == "z:1" })
        #expect(entries.contains(entry("b:80", first)) && !entries.contains(entry("b:48", first)))
    }

    @Test func noLineIsBroken() throws {
        #expect(try known.addOwn(first, at: ["unix:/a b", "unix:/a\nb", "unix:/c"]) == [])
        #expect(try known.entries() == [entry("unix:/c", first)])
    }

    /// The list would be useless if it grew beyond the size that the client reads.
    @Test func itDoesNotBecomeTooLongToBeRead() throws {
        try known.add(KnownServers.Entry(address: "a:1", fingerprint: first))
        let start = try #require(Files.read(known.path))
        let comment = [UInt8](repeating: UInt8(ascii: "#"), count: (16 << 20) - start.count - 1)
        try Files.write(known.path, start + comment + [UInt8(ascii: "\n")])
        let fault = #expect(throws: KnownServers.Fault.self) {
            try known.add(KnownServers.Entry(address: "b:1", fingerprint: first))
        }
        #expect(fault?.message.contains("too long") ?? false)
        #expect(try known.entries().map(\.address) == ["a:1"])
    }

    /// The path of a socket may contain any byte. The list refuses a path that it cannot hold, and its other entries
    /// stay intact.
    @Test func everyAddressComesBackOrIsRefused() throws {
        var kept: [String] = []
        for name in OddNames.paths {
            let address = "unix:/\(name)"
            do {
                try known.add(KnownServers.Entry(address: address, fingerprint: first))
                kept.append(address)
            } catch {
                #expect(address.utf8.contains { $0 <= 0x20 || $0 == 0x7F })
            }
        }
        let found = try known.entries().map { Array($0.address.utf8) }
        #expect(kept.count > 50 && found == kept.map { Array($0.utf8) })
    }

    private func entry(_ address: String, _ fingerprint: KeyFingerprint) -> KnownServers.Entry {
        KnownServers.Entry(address: address, fingerprint: fingerprint, isOwn: true)
    }
}
