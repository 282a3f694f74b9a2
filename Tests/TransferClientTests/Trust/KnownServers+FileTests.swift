import Testing
import TransferKeys
import TransferSystem
import TransferTestSupport

@testable import TransferClient

@Suite struct KnownServersFileTests {
    private static let first = KeyFingerprint(of: [UInt8](repeating: 1, count: 32))
    private static let second = KeyFingerprint(of: [UInt8](repeating: 2, count: 32))

    private let directory: TemporaryDirectory
    private let list: KnownServers

    init() throws {
        directory = try TemporaryDirectory()
        list = KnownServers(path: directory.path("known_servers"))
    }

    private func write(_ content: some Sequence<UInt8>) throws {
        _ = try OwnFile.write(Array(content), to: list.path, replaces: true)
    }

    private func content() throws -> String {
        let file = try #require(try OwnFile(reading: list.path, atMost: 1 << 20))
        return String(decoding: file.content, as: UTF8.self)
    }

    @Test func readsEntriesAndComments() throws {
        try write("# mine\n\na:1 \(Self.first)\n \t[::1]:2\t \(Self.second) \n".utf8)
        #expect(
            try list.entries() == [
                KnownServers.Entry(address: "a:1", fingerprint: Self.first),
                KnownServers.Entry(address: "[::1]:2", fingerprint: Self.second),
            ])
    }

    /// A line that the parser misses could hide that a key has changed.
    @Test(arguments: ["# mine\r\n", "\r\n", "b:1 \(first)\r\n", "#\r\n# mine\r\n"])
    func linesThatEndInTwoCharactersAreLines(_ before: String) throws {
        try write("\(before)a:1 \(Self.first)\r\n".utf8)
        #expect(try list.fingerprint(of: "a:1") == Self.first)
        try list.add(KnownServers.Entry(address: "a:1", fingerprint: Self.second))
        #expect(try list.fingerprint(of: "a:1") == Self.second)
        #expect(try content() == "\(before)a:1 \(Self.second)\n")
    }

    @Test(arguments: [
        "a:1", "a:1 x", "a:1 \(first) b", "a:1 \(first)\u{B}", "a\u{B}:1 \(first)", "a:1 \(first)\r\r",
        "a:1\u{A0}\(first)",
    ]) func aLineThatCannotBeUnderstoodIsNotPassedOver(_ line: String) throws {
        try write("b:1 \(Self.first)\n\(line)\n".utf8)
        #expect(throws: KnownServers.Fault.self) { try list.entries() }
        #expect(throws: KnownServers.Fault.self) {
            try list.add(KnownServers.Entry(address: "c:1", fingerprint: Self.first))
        }
        #expect(try content() == "b:1 \(Self.first)\n\(line)\n")
    }

    @Test func bytesThatAreNoTextAreNoAddress() throws {
        try write([0xFF] + " \(Self.first)\n".utf8)
        #expect(throws: KnownServers.Fault.self) { try list.entries() }
    }

    /// The list would read these addresses back as other lines or as none.
    @Test(arguments: ["#a:1", "", "a b", "a\tb", "a\nb", "a\r"])
    func whatWouldNotBeReadAgainIsNotAdded(_ address: String) throws {
        #expect(throws: KnownServers.Fault.self) {
            try list.add(KnownServers.Entry(address: address, fingerprint: Self.first))
        }
        #expect(try list.entries().isEmpty)
    }

    @Test func removesAllLinesOfAnAddressAndNoOther() throws {
        try write("# x\na:1 \(Self.first)\nb:1 \(Self.first)\na:1 \(Self.second)\n".utf8)
        #expect(try list.remove("a:1"))
        #expect(try !list.remove("a:1"))
        #expect(try content() == "# x\nb:1 \(Self.first)\n")
    }
}
