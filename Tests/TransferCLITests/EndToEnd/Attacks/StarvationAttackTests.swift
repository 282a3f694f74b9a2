import Glibc
import Testing
import TransferAccess
import TransferCodec
import TransferIO
import TransferKeys
import TransferModel
import TransferProtocol
import TransferSystem
import TransferTestSupport

/// Admitted clients send the requests that cost the server most, or occupy shared resources, while another client
/// pushes.
@Suite(.ownThreads, .serialized) struct StarvationAttackTests {
    private static let connections = AttackScale.count(20, full: 256)
    private static let identities = AttackScale.count(16, full: 64)
    private static let pushes = AttackScale.count(4, full: 200)
    private static let longSize = AttackScale.count(8 << 20, full: 64 << 20)
    private static let numberedNames = AttackScale.count(100, full: 2000)

    /// Factor by which the push of another client may slow down.
    private static let bound = 5

    /// Seconds allowed for a push at small scale, where times mean nothing. Only a client that is kept out needs so
    /// long.
    private static let patience = Int64(Program.patience)

    private let server: SecureServer

    init() throws {
        server = try SecureServer(user: "owner")
        #expect(try server.trust(["add", server.address, server.fingerprint]).end == .exited(0))
        _ = try server.access(["add", server.key(of: SecureServer.client)])
    }

    /// One client has hundreds of connections.
    @Test func anotherClientIsServed() throws {
        let (ground, pair) = (try prepare(), KeyPair())
        try admit([pair])
        for part in ground.parts { try HostileClient(to: server.address, pair).send(part, ground) }
        try besiege([Siege.Post]([pair], connections: Self.connections, HostileClient.Order.costly), ground, push)
    }

    /// Many clients have some connections each: clients that do not read, that hold upload slots and buffers, and that
    /// create rows.
    @Test(arguments: [false, true]) func oneOfManyIdentitiesIsServed(overHTTP: Bool) throws {
        let keys = (0..<Self.identities).map { _ in KeyPair() }
        try admit(keys)
        let token = try server.access(["token", "create", "--name", "camera"]).output.dropLast()
        let posts = [Siege.Post](keys, connections: HostileClient.Order.holding.count, HostileClient.Order.holding)
        try besiege(posts, try prepare()) { number in
            if overHTTP { try put(number, String(token)) } else { try push(number) }
        }
    }

    private func admit(_ keys: [KeyPair]) throws {
        let folder = AccessFolder(of: server.directory)
        for (number, pair) in keys.enumerated() {
            try folder.admit(AuthorizedKey(pair.key, name: "hostile-\(number)"))
        }
        // No restart is needed: the server reads the access lists again before it answers the next client.
    }

    /// - Parameter push: stores 1 MiB; its argument is the number of the push.
    private func besiege(_ posts: [Siege.Post], _ ground: HostileClient.Ground, _ push: (Int) throws -> Void) throws {
        let alone = try times(push)
        let siege = Siege(posts, to: server.address, ground)
        let beside = try times(push)
        let rounds = try siege.stop()
        #expect(rounds > 0)
        let (median, worst) = (alone[alone.count / 2], beside[(beside.count - 1) * 99 / 100])
        print(
            "starvation: \(posts.count) connections, \(rounds) rounds; alone \(Self.text(median)) ms in the median, "
                + "\(Self.text(alone[(alone.count - 1) * 99 / 100])) for 99 %; beside "
                + "\(Self.text(beside[beside.count / 2])), \(Self.text(worst))")
        #expect(worst < Self.patience * 1_000_000)
        if AttackScale.isFull { #expect(worst < Int64(Self.bound) * max(median, 1)) }
    }

    /// Formats microseconds as milliseconds with one decimal.
    private static func text(_ time: Int64) -> String { "\(time / 1000).\(time % 1000 / 100)" }

    /// - Returns: the microseconds that each push took, sorted.
    private func times(_ push: (Int) throws -> Void) throws -> [Int64] {
        var times: [Int64] = []
        for number in 0..<Self.pushes {
            // Each push has another file.
            try writeFile(server.home.path("file"), randomBytes(1 << 20, seed: UInt64(number + 1)))
            let start = monotonicNanoseconds()
            try push(number)
            times.append((monotonicNanoseconds() - start) / 1000)
        }
        return times.sorted()
    }

    private func push(_ number: Int) throws {
        let push = try Finished(
            ["push", server.home.path("file"), "--to", server.address, "--on-conflict", "overwrite"],
            server.surroundings())
        #expect(push.end == .exited(0), "\(push.errors)")
    }

    /// Stores a file over HTTP, as a camera or a script does.
    private func put(_ number: Int, _ token: String) throws {
        let content = randomBytes(1 << 20, seed: UInt64(number + 1))
        let socket = try SecuredSocket(to: server.address, .client(protocols: ["http/1.1"]))
        let head =
            "PUT /web HTTP/1.1\r\nHost: server\r\nAuthorization: Bearer \(token)\r\nContent-Length: \(content.count)\r\n"
            + "Connection: close\r\n\r\n"
        try socket.say(Array(head.utf8) + content)
        socket.flush()
        var answer = ""
        while !answer.contains("\r\n"), !socket.isClosed {
            answer += String(decoding: try socket.read(), as: UTF8.self)
        }
        #expect(answer.hasPrefix("HTTP/1.1 20"), "\(answer)")
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
