import Testing
import TransferAccess
import TransferIO
import TransferSystem

@testable import TransferIntake
@testable import TransferServer

@Suite struct ClientAccountsTests {
    private let accounts = ClientAccounts()

    /// However many connections a client has, they pay together, and as long as one of them is there.
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

    /// Who shows nothing is known by where it comes from; who shows something, wherever it comes from, by that.
    @Test func whoeverShowsNothingIsKnownByItsNetwork() {
        let origin = PeerOrigin(name: "1.2.3.4:5", network: PeerNetwork(ipv4: 0x0102_0304), isLocal: false)
        let local = PeerOrigin(name: "127.0.0.1:5", network: nil, isLocal: true)
        let anybody = Grant(.everyone, name: "anybody")
        #expect(AccountHolder(anybody, origin) == .network(PeerNetwork(ipv4: 0x0102_0304)))
        #expect(AccountHolder(anybody, local) == .thisMachine)
        #expect(AccountHolder(Grant(.token("a"), name: "a"), origin) == .client(.token("a")))
    }
}
