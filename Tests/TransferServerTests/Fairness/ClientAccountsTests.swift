import Testing
import TransferAccess
import TransferIO
import TransferSystem

@testable import TransferIntake
@testable import TransferServer

@Suite struct ClientAccountsTests {
    private let accounts = ClientAccounts()

    /// All connections of a client share one account, which lasts as long as one of them.
    @Test func aClientHasOneForAllItsConnections() {
        let client = AccountHolder.client(.token("a"))
        let first = accounts.enter(client)
        #expect(accounts.enter(client) === first)
        accounts.leave(client)
        #expect(accounts.enter(client) === first)
        accounts.leave(client)
        accounts.leave(client)
        #expect(accounts.enter(client) !== first)
    }

    @Test func othersHaveTheirOwn() {
        let owners: [AccountHolder] = [
            .client(.token("a")), .client(.token("b")), .network(PeerNetwork(ipv4: 0x0102_0304)), .thisMachine,
        ]
        let made = owners.map { accounts.enter($0) }
        #expect(Set(made.map { ObjectIdentifier($0) }).count == owners.count)
    }

    /// A client without identity is known by its network. A client with an identity is known by that, wherever it
    /// connects from.
    @Test func whoeverShowsNothingIsKnownByItsNetwork() {
        let origin = PeerOrigin(name: "1.2.3.4:5", network: PeerNetwork(ipv4: 0x0102_0304), isLocal: false)
        let local = PeerOrigin(name: "127.0.0.1:5", network: nil, isLocal: true)
        let anybody = Grant(.everyone, name: "anybody")
        #expect(AccountHolder(anybody, origin) == .network(PeerNetwork(ipv4: 0x0102_0304)))
        #expect(AccountHolder(anybody, local) == .thisMachine)
        #expect(AccountHolder(Grant(.token("a"), name: "a"), origin) == .client(.token("a")))
    }
}
