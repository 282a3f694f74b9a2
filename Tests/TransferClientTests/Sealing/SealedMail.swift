import TransferAccess
import TransferKeys
import TransferModel
import TransferSealing
import TransferServer
import TransferTestSupport

@testable import TransferClient

/// A real server with several people, and the keys of their machines.
struct SealedMail {
    struct Missing: Error {}

    let home: TemporaryDirectory
    let server: RunningServer
    private let identities: [String: SealingIdentity]

    /// - Parameter machines: names of machines and their owners; each machine has separate keys.
    init(_ machines: [(machine: String, person: String)]) async throws {
        home = try TemporaryDirectory()
        let folder = AccessFolder(of: home.path("store"))
        try Files.makeDirectory(home.path("store"))
        try folder.make()
        var identities: [String: SealingIdentity] = [:]
        for (machine, person) in machines {
            let identity = SealingIdentity(
                key: KeyPair(), sealing: try SealingKey(),
                people: KnownPeople(path: home.path("\(machine)/known_people")))
            try folder.admit(AuthorizedKey(identity.key.key, name: person))
            identities[machine] = identity
        }
        self.identities = identities
        server = try await RunningServer(in: home) { configuration in
            configuration.security = .identity
            configuration.access = .listed(owner: nil)
        }
    }

    func identity(_ machine: String) throws -> SealingIdentity {
        guard let identity = identities[machine] else { throw Missing() }
        return identity
    }

    /// - Parameter address: address of a proxy; nil for the server's address.
    func client(
        _ machine: String, at address: ServerAddress? = nil, _ change: (inout ClientConfiguration) -> Void = { _ in }
    ) throws -> TransferClient {
        var configuration = ClientConfiguration.trusting
        let identity = try identity(machine)
        (configuration.key, configuration.sealing) = (identity.key, identity)
        change(&configuration)
        return try TransferClient(server: address ?? server.address, configuration: configuration)
    }

    func push(
        _ uploads: [Upload], for people: [String], at address: ServerAddress? = nil,
        _ change: (inout ClientConfiguration) -> Void = { _ in }
    ) async throws -> TransferClientTests.Outcome {
        let client = try client("alice", at: address) { configuration in
            (configuration.recipients, configuration.seals) = (people, true)
            change(&configuration)
        }
        return await Outcome(client.push(uploads))
    }

    /// Deliveries for a person, with their content on the server.
    func inbox(_ machine: String) async throws -> [(delivery: Delivery, content: [UInt8])] {
        let client = try client(machine)
        var found: [(delivery: Delivery, content: [UInt8])] = []
        for delivery in await all(client.inbox()).events {
            let (pieces, failure) = await all(client.read(delivery, opens: false))
            if let failure { throw failure }
            var content: [UInt8] = []
            for case .content(let piece) in pieces { content += piece }
            found.append((delivery, content))
        }
        return found
    }

    /// Runs a test against a new server and stops the server.
    static func with(
        _ machines: [(machine: String, person: String)] = [("alice", "alice"), ("bob", "bob")],
        _ body: (SealedMail) async throws -> Void
    ) async throws {
        let mail = try await SealedMail(machines)
        let result: Result<Void, any Error>
        do { result = .success(try await body(mail)) } catch { result = .failure(error) }
        await mail.server.stop()
        try result.get()
    }
}
