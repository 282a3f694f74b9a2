import Glibc
import Testing
import TransferIO
import TransferModel
import TransferProtocol
import TransferSystem
import TransferTestSupport

@testable import TransferCLI

/// `transfer serve --discover`, `transfer discover` and `discover:NAME`, on loopback.
@Suite(.ownThreads) struct DiscoveryRunTests {
    private static let flags = ["--discover", "--discover-name", "nas", "--discover-listen", "127.0.0.1:0"]

    /// The UDP port that a server has logged.
    private static func port(_ program: Program) throws -> String {
        let log = try program.waitForError(" (UDP)")
        let line = log.split(separator: " (UDP)").first ?? ""
        return String(line.split(separator: ":").last ?? "")
    }

    /// The surroundings of a client that asks only this machine.
    private static func asking(_ ports: [String], _ surroundings: Surroundings = Surroundings()) -> Surroundings {
        var surroundings = surroundings
        let places = ports.map { "127.0.0.1:\($0)" }.joined(separator: "\n")
        surroundings.environment["TRANSFER_DISCOVER_AT"] = places
        surroundings.environment["TRANSFER_DISCOVER_WAIT"] = "2s"
        return surroundings
    }

    @Test func aServerIsFoundAndPushedTo() throws {
        let server = try SecureServer(Self.flags)
        let here = Self.asking([try Self.port(server.program)], server.surroundings())
        let (host, port) = (server.address.split(separator: ":")[0], server.address.split(separator: ":")[1])
        let unknown = try Finished(["discover"], here)
        #expect(unknown.end == .exited(0), "\(unknown.errors)")
        #expect(try unknown.output == "nas  \(host)  \(port)  \(server.fingerprint)  unknown\n")
        // As with an address that the user typed, an unknown key is refused.
        let refused = try server.push(to: "discover:nas", here.environment)
        #expect(refused.end == .exited(4) && server.storedFiles.isEmpty)
        #expect(refused.errors.contains("The server \(server.address) is not known here."), "\(refused.errors)")
        let push = try server.push(["--trust-new"], to: "discover:nas/in", here.environment)
        #expect(push.end == .exited(0), "\(push.errors)")
        #expect(server.storedFiles == ["in/note"])
        #expect(try server.push(to: "discover:nas", here.environment).end == .exited(0))
        #expect(try Finished(["discover"], here).output.hasSuffix("  trusted\n"))
        let list = try Finished(["list", "--from", "discover:nas/in"], here)
        #expect(list.end == .exited(0) && list.output.contains("note"), "\(list.errors)")
    }

    /// An answer from another server does not change which key a client trusts.
    @Test func aKnownServerWithAnotherKey() throws {
        let server = try SecureServer(Self.flags)
        let here = Self.asking([try Self.port(server.program)], server.surroundings())
        let other = "SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU"
        #expect(try server.trust(["add", server.address, other]).end == .exited(0))
        #expect(try Finished(["discover"], here).output.hasSuffix("  KEY HAS CHANGED\n"))
        let push = try server.push(["--trust-new"], to: "discover:nas", here.environment)
        #expect(push.end == .exited(4) && server.storedFiles.isEmpty)
        #expect(push.errors.contains("HAS CHANGED"), "\(push.errors)")
    }

    /// An attacker copies the answer of another server, and names the port of the attacker's own server.
    @Test func aCopiedAnswerLeadsNowhere() throws {
        let server = try SecureServer(Self.flags)
        let own = try Self.answer(at: Self.port(server.program))
        let liar = try DatagramSocket(SocketAddress(.ipv4Loopback, port: 0))
        let other = try SecureServer()
        let port = try #require(UInt16(other.address.split(separator: ":")[1]))
        let isOver = Locked(false)
        let thread = TestThread {
            var buffer = [UInt8](repeating: 0, count: DatagramSocket.longest)
            while !isOver.withLock({ $0 }) {
                DatagramSocket.wait(for: [liar], milliseconds: 100)
                guard let arrival = try? liar.receive(into: &buffer),
                    case .probe(let nonce)? = try? DiscoveryDatagram.decode(buffer[..<arrival.count]),
                    let copy = DiscoveryAnswer(
                        nonce, instance: own.instance, keyDigest: own.keyDigest, ports: [port], name: own.name)
                else { continue }
                try? liar.send(copy.bytes[...], to: arrival.source)
            }
        }
        defer {
            isOver.withLock { $0 = true }
            thread.join()
        }
        let here = Self.asking(["\(liar.address.port ?? 0)"], other.surroundings())
        let push = try other.push(["--trust-new"], to: "discover:nas", here.environment)
        #expect(push.end == .exited(4) && other.storedFiles.isEmpty, "\(push.errors)")
        #expect(try push.errors.contains("announced \(server.fingerprint)"), "\(push.errors)")
        let plain = try RunningServer(Self.flags)
        let there = Self.asking([try Self.port(plain.program)], other.surroundings())
        let refused = try other.push(["--trust-new"], to: "discover:nas", there.environment)
        #expect(refused.end == .exited(4) && refused.errors.contains("--plaintext"), "\(refused.errors)")
    }

    /// The answer of a server to a probe.
    private static func answer(at port: String) throws -> DiscoveryAnswer {
        let socket = try DatagramSocket(SocketAddress(.ipv4Loopback, port: 0))
        let nonce = DiscoveryNonce(high: 1, low: 2)
        let place = SocketAddress(.ipv4Loopback, port: try #require(UInt16(port)))
        try socket.send(DiscoveryDatagram.probe(with: nonce)[...], to: place)
        DatagramSocket.wait(for: [socket], milliseconds: 20_000)
        var buffer = [UInt8](repeating: 0, count: DatagramSocket.longest)
        let arrival = try #require(try socket.receive(into: &buffer))
        guard case .answer(let answer) = try DiscoveryDatagram.decode(buffer[..<arrival.count]) else {
            throw Program.Failure(description: "no answer")
        }
        return answer
    }

    @Test func objects() throws {
        let (secure, plain) = (
            try SecureServer(Self.flags), try RunningServer(Self.flags.map { $0 == "nas" ? "old" : $0 })
        )
        let ports = [try Self.port(secure.program), try Self.port(plain.program)]
        let found = try Finished(["discover", "--json"], Self.asking(ports, secure.surroundings()))
        let schema = try DocumentedSchema()
        #expect(found.lines.count == 2, "\(found.output) \(found.errors)")
        for line in found.lines { #expect(try schema.matches(JSONReader.read(Array(line.utf8))) == ["server"]) }
        let servers = try found.lines.map { try JSONReader.read(Array($0.utf8)) }
        #expect(servers.map { $0["name"] } == [.string("nas"), .string("old")])
        #expect(servers[0]["fingerprint"] == .string(try secure.fingerprint) && servers[0]["encrypted"] == .bool(true))
        #expect(servers[1]["fingerprint"] == .null && servers[1]["encrypted"] == .bool(false))
        #expect(
            servers[1]["addresses"] == .array([.string(plain.address)]) && servers[1]["trust"] == .string("unknown"))
        #expect(servers[1]["address"] == .string("127.0.0.1"))
    }

    @Test func twoOfOneNameAreRefused() throws {
        let servers = [try SecureServer(Self.flags), try SecureServer(Self.flags)]
        let here = Self.asking(try servers.map { try Self.port($0.program) }, servers[0].surroundings())
        let push = try servers[0].push(["--trust-new"], to: "discover:nas", here.environment)
        #expect(push.end == .exited(4), "\(push.errors)")
        #expect(push.errors.contains("2 servers call themselves 'nas': "), "\(push.errors)")
        // The addresses in the message can be pasted.
        #expect(servers.contains { push.errors.contains(" --to \($0.address):/") }, "\(push.errors)")
        for server in servers {
            #expect(try push.errors.contains("\(server.address) (\(server.fingerprint))"), "\(push.errors)")
            #expect(server.storedFiles.isEmpty)
        }
    }

    @Test func nobodyAnswers() throws {
        let silent = try DatagramSocket(SocketAddress(.ipv4Loopback, port: 0))
        let here = Self.asking(["\(silent.address.port ?? 0)"])
        let found = try Finished(["discover", "--json"], here)
        #expect(found.end == .exited(3) && found.output == "" && found.errors.contains("no server answered"))
        let push = try Finished(["push", "--text", "a", "--to", "discover:nas", "--plaintext"], here)
        #expect(push.end == .exited(3), "\(push.errors)")
        #expect(push.errors.contains("No server called 'nas' answered.") && !push.errors.contains("Try 'transfer"))
    }

    /// A killed process frees its port, and the next one gets it.
    @Test func itIsFoundAgainAfterACrash() throws {
        let server = try RunningServer(["--discover", "--discover-name", "nas"])
        let port = try Self.port(server.program)
        #expect(server.address.hasSuffix(":\(port)"), "at the port that it listens on")
        let first = try server.waitForWorker()
        kill(first, SIGKILL)
        _ = try server.waitForWorker(after: first)
        // A client that connects waits until the next process serves.
        #expect(try server.push(["--text", "a"]).end == .exited(0))
        let push = try Finished(
            ["push", "--plaintext", "--text", "b", "--name", "b", "--to", "discover:nas"], Self.asking([port]))
        #expect(push.end == .exited(0), "\(push.errors)")
        #expect(server.program.errorText.split(separator: "can be found as 'nas'").count == 2, "said once")
    }

    @Test(arguments: [
        (["--discover-name", "nas"], "--discover-name needs --discover"),
        (["--discover-listen", "127.0.0.1:1"], "--discover-listen needs --discover"),
        (["--discover", "--discover-name", "a:b"], "'a:b' is not a valid name of a server"),
        (["--discover", "--discover-name", "5288"], "'5288' is not a valid name of a server"),
        (["--discover", "--discover-listen", "unix:/x"], "is not a UDP address to listen on"),
    ]) func wrongFlags(_ flags: [String], _ words: String) throws {
        let serve = try Finished(["serve"] + flags)
        #expect(serve.end == .exited(2) && serve.errors.contains(words), "\(serve.errors)")
    }

    @Test(arguments: [
        (["--wait", "61s"], "--wait must be 60s at most"), (["--at", "unix:/x"], "is not an address to ask"),
        (["--port", "0"], "out of range"), (["--at", "a:b:c"], "is not an address to ask"),
    ]) func wrongQuestions(_ flags: [String], _ words: String) throws {
        let discover = try Finished(["discover"] + flags)
        #expect(discover.end == .exited(2) && discover.errors.contains(words), "\(discover.errors)")
    }
}
