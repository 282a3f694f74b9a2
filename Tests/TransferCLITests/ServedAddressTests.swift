import Testing
import TransferAccess
import TransferModel

@testable import TransferCLI

/// The address in a link, derived from what the server reports about itself.
@Suite struct ServedAddressTests {
    private func address(
        _ listening: [String], advertised: String? = nil, encrypted: Bool = true, flag: String? = nil
    ) throws -> ServedAddress {
        let answer = JSONNode.object([
            (key: "listening", value: .array(listening.map { .string($0) })),
            (key: "advertised", value: advertised.map { .string($0) } ?? .null),
            (key: "encrypted", value: .bool(encrypted)), (key: "anonymous", value: .bool(!encrypted)),
        ])
        return try ServedAddress(answer, nil, flag.flatMap { AdvertisedAddress($0) })
    }

    @Test(
        arguments: [
            (["192.0.2.7:99"], nil, nil, "192.0.2.7", 99),
            (["127.0.0.1:1", "192.0.2.7:99"], nil, nil, "192.0.2.7", 99),
            (["unix:/run/a", "[2001:db8::7]:99"], nil, nil, "2001:db8::7", 99),
            (["192.0.2.7:99"], "nas.local", nil, "nas.local", 99),
            (["192.0.2.7:99"], "nas.local:7", nil, "nas.local", 7),
            (["192.0.2.7:99"], "nas.local:7", "there", "there", 99), (["192.0.2.7:99"], "nas:7", "there:5", "there", 5),
            (["127.0.0.1:1"], nil, "there", "there", 1), (["unix:/run/a"], nil, "there", "there", 5288),
        ] as [([String], String?, String?, String, UInt16)])
    func isTheServers(
        _ listening: [String], _ advertised: String?, _ flag: String?, _ host: String, _ port: UInt16
    ) throws {
        let address = try address(listening, advertised: advertised, flag: flag)
        #expect(address.host == host && address.port == port && address.warnings.isEmpty, "\(address)")
    }

    @Test func whatListensEverywhereHasAnAddressOfTheMachine() throws {
        guard let best = HostAddress.best(among: [.ipv4]) else { return }
        let address = try address(["0.0.0.0:99"])
        #expect(address.host == best && address.port == 99 && address.warnings.isEmpty)
    }

    @Test func whatOthersCannotUseIsSaid() throws {
        let local = try address(["127.0.0.1:99", "[::1]:99"])
        #expect(local.host == "127.0.0.1" && local.warnings.count == 1)
        #expect(local.warnings[0].contains("this machine only"))
        let plain = try address(["192.0.2.7:99"], encrypted: false)
        #expect(plain.warnings.count == 1 && plain.warnings[0].contains("without encryption"))
        #expect(throws: AccessFault.self) { try address(["unix:/run/a"]) }
    }

    @Test func aServerThatDoesNotAnswerIsSaid() throws {
        let address = try ServedAddress(nil, "No server.", AdvertisedAddress("there"))
        #expect(address.host == "there" && address.port == 5288 && address.warnings == ["No server."])
    }
}
