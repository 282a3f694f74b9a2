import Glibc
import Testing
import TransferModel
import TransferPorts
import TransferStore
import TransferTestSupport

@testable import TransferClient

/// A failure of the scan of one side ends the scan of the other.
extension SyncTests {
    private func scans(
        _ client: TransferClient,
        _ local: @escaping @Sendable (_ isStopped: @escaping BothScans<Int>.Stop) throws(Failure) -> Int
    ) -> BothScans<Int> {
        let remote = RemoteScan(client, isSource: false, wantsDigests: true, SyncFilter(Selection()))
        return BothScans(remote: remote, pool: client.pool, local: local)
    }

    @Test func aLookHereEndsWhenTheServerRefuses() async throws {
        try write("a", [1])
        try await withServer { server in
            _ = try await push(server)
            let scans = scans(try client(server, "copy/a")) { isStopped throws(Failure) in
                while !isStopped() { sched_yield() }
                throw Failure(.aborted, "It was stopped.")
            }
            let failure = await #expect(throws: TransferFailure.self) { _ = try await scans.run() }
            #expect(failure?.reason == .rejected(.wrongForm))
        }
    }

    /// The fake server never answers, and the client would retry for an hour.
    @Test func aFailureHereDoesNotWaitForTheServer() async throws {
        try write(".ignored", [0xFF])
        let (silent, port) = Wire.listen()
        var configuration = ClientConfiguration.plain()
        configuration.selection.ignoreFile = ".ignored"
        configuration.retryFor = 3600
        let address = try #require(ServerAddress("127.0.0.1:\(port)/copy"))
        let client = try TransferClient(server: address, configuration: configuration)
        let synced = await Synced(client.sync(from: source))
        #expect(synced.failure?.reason == .rejected(.sourceUnreadable), "\(String(describing: synced.failure))")
        withExtendedLifetime(silent) {}
    }

    @Test func bothAreFound() async throws {
        try write("a", [1])
        try await withServer { server in
            _ = try await push(server)
            let found = try await scans(try client(server)) { isStopped in isStopped() ? 0 : 7 }.run()
            #expect(found.here == 7 && found.server.tree.entries.map(\.path.string) == ["a"])
            let nothing = try await scans(try client(server, "no/such")) { _ in 8 }.run()
            #expect(nothing.server.tree.top == nil && nothing.server.tree.entries.isEmpty)
        }
    }
}
