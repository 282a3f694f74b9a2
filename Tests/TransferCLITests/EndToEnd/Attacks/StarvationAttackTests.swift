import Glibc
import Testing
import TransferAccess
import TransferCodec
import TransferModel
import TransferProtocol
import TransferSystem
import TransferTestSupport

/// A client that was let in has hundreds of connections order whatever costs the server most, while another one pushes.
@Suite(.ownThreads, .serialized) struct StarvationAttackTests {
    private static let connections = AttackScale.count(20, full: 256)
    private static let pushes = AttackScale.count(4, full: 200)
    private static let longSize = AttackScale.count(8 << 20, full: 64 << 20)
    private static let numberedNames = AttackScale.count(100, full: 2000)

    /// How many times as long as alone another's push may take.
    private static let bound = 5

    /// Seconds that a push may take in small, which says nothing of times: only one that is kept out needs so long.
    private static let patience = Int64(Program.patience)

    private let server: SecureServer

    init() throws {
        server = try SecureServer(user: "owner")
        #expect(try server.trust(["add", server.address, server.fingerprint]).end == .exited(0))
        for user in [SecureServer.client, "hostile"] { _ = try server.access(["add", server.key(of: user)]) }
    }

    @Test func anotherClientIsServed() throws {
        try writeFile(server.home.path("file"), randomBytes(1 << 20, seed: 1))
        let alone = try push()
        let ground = try prepare()
        let pair = try #require(try ClientKey(in: server.home.path("hostile/transfer")).find())
        for part in ground.parts { try HostileClient(to: server.address, pair).send(part, ground) }
        let siege = Siege(Self.connections, to: server.address, pair, ground)
        let beside = try push()
        let rounds = siege.stop()
        #expect(rounds > 0)
        let (median, worst) = (alone[alone.count / 2], beside[(beside.count - 1) * 99 / 100])
        print(
            "starvation: \(Self.connections) connections, \(rounds) rounds; alone \(median) ms in the median, "
                + "\(alone[(alone.count - 1) * 99 / 100]) for 99 %; beside \(beside[beside.count / 2]), \(worst)")
        #expect(worst < Self.patience * 1000)
        if AttackScale.isFull { #expect(worst < Int64(Self.bound) * median) }
    }

    /// - Returns: milliseconds that each push took, in order.
    private func push() throws -> [Int64] {
        var times: [Int64] = []
        for _ in 0..<Self.pushes {
            let start = monotonicNanoseconds()
            let push = try Finished(
                ["push", server.home.path("file"), "--to", server.address, "--on-conflict", "overwrite"],
                server.surroundings())
            times.append((monotonicNanoseconds() - start) / 1_000_000)
            #expect(push.end == .exited(0), "\(push.errors)")
            // Another file for the next one.
            try writeFile(server.home.path("file"), randomBytes(1 << 20, seed: UInt64(times.count + 1)))
        }
        return times.sorted()
    }

    private func prepare() throws -> HostileClient.Ground {
        let content = randomBytes(Self.longSize, seed: 3)
        try writeFile(server.directory + "/long", content)
        mkdir(server.directory + "/n", 0o755)
        for number in 0..<Self.numberedNames {
            let name = number == 0 ? "a" : "a-\(number)"
            try writeFile("\(server.directory)/n/\(name)", withUnsafeBytes(of: UInt64(number)) { Array($0) })
        }
        return HostileClient.Ground(
            long: content, bomb: FrameBytes.data(try FloodAttackTests.deflated(zeros: Limits.dataBody), .zlib))
    }
}
