import Testing
import TransferModel

@testable import TransferProtocol

@Suite struct ListedEntryTests {
    private static func entry(_ form: ListedEntry.Form, _ extras: ListedEntry.Extras?) -> ListedEntry {
        ListedEntry(
            form, name: "n", size: 0, modified: .init(seconds: 1, nanoseconds: 0), permissions: 0o754, extras: extras)
    }

    private static func body(_ entry: ListedEntry) -> [UInt8] {
        var body = Message.entries(Entries(id: 1, [entry])).body
        body.appendCheck(from: 0)
        return body
    }

    private static func read(_ body: [UInt8]) throws(ProtocolFault) -> ListedEntry? {
        guard case .entries(let entries) = try Message.decode(.entries, body: body) else { return nil }
        return entries.entries.first
    }

    @Test func whatIsNotToldIsSaid() throws {
        let attributes = ExtraAttributes(owner: .init(user: 1, group: 2))
        for isPartial in [false, true] {
            let entry = Self.entry(.file, .init(names: 2, attributes: attributes, isPartial: isPartial))
            #expect(try Self.read(Self.body(entry)) == entry)
        }
    }

    /// A client that does not know the flag reads only the lowest nine bits of the permissions.
    @Test func whatIsNotToldIsSaidBesideThePermissions() throws {
        let plain = Self.body(Self.entry(.file, .init()))
        let partial = Self.body(Self.entry(.file, .init(isPartial: true)))
        let differing = zip(plain, partial).enumerated().filter { $1.0 != $1.1 }.map(\.offset)
        // The bytes after the ID, the count, form, flags and kind, and the check at the end.
        #expect(plain.count == partial.count && differing.first == 9 && differing.dropFirst().allSatisfy { $0 > 11 })
        #expect(partial[9] == plain[9] | 0x80)
    }

    @Test(arguments: [[], [0], [0x61, 0], [0x61, 0, 0x62]] as [[UInt8]]) func aLinkSaysSomethingAndNoZero(
        _ target: [UInt8]
    ) {
        let body = Self.body(Self.entry(.symbolicLink, .init(target: target)))
        #expect(faultCode { () throws(ProtocolFault) in _ = try Self.read(body) } == .malformedFrame)
    }

    @Test func aLinkOfWhichNothingMoreIsTold() throws {
        let link = Self.entry(.symbolicLink, nil)
        #expect(try Self.read(Self.body(link)) == link)
        let told = Self.entry(.symbolicLink, .init(target: Array("../a b".utf8)))
        #expect(try Self.read(Self.body(told)) == told)
    }
}
