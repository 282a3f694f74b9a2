import Foundation
import Glibc
import Testing
import TransferCodec
import TransferKeys
import TransferModel
import TransferProtocol
import TransferReceipts
import TransferSealing
import TransferSystem
import TransferTestSupport

/// Runs every command against a server whose answers are right, wrong, or faulty, by chance. Whatever the server
/// answers, the client changes nothing outside the target, sends nothing that the command does not name, signs nothing
/// that is not on disk, and uses bounded memory.
@Suite(.ownThreads) struct HostileServerAttackTests {
    private let home: TemporaryDirectory
    private let sealing: SealingKey

    /// Bytes of memory that a command may use, also while it receives lists of several MiB.
    private static let mostMemory = 128 << 20

    /// Content of each file that must stay on the client.
    private static let secret = SplitMix64.bytes(seed: 99, 64)

    /// Number of rounds of all commands, and the seed of the first round: at full scale a new seed in each run, unless
    /// `TRANSFER_HOSTILE_SEED` sets one.
    private static let rounds = AttackScale.count(3, full: 100)
    private static let seed: Int = {
        guard let given = getenv("TRANSFER_HOSTILE_SEED") else { return AttackScale.isFull ? Int(time(nil)) : 1 }
        return Int(String(cString: given)) ?? 1
    }()

    /// The number of the only command to run, to reproduce a failure.
    private static let only = getenv("TRANSFER_HOSTILE_COMMAND").flatMap { Int(String(cString: $0)) }

    init() throws {
        home = try TemporaryDirectory()
        sealing = try SealingKey()
        for folder in ["config/transfer", "source/sub", "outside"] { try makeDirectories(home.path(folder)) }
        try writeFile(home.path("config/transfer/sealing.key"), Array((try sealing.text + "\n").utf8))
        chmod(home.path("config/transfer/sealing.key"), 0o600)
        chmod(home.path("config/transfer"), 0o700)
        try writeFile(home.path("source/a.txt"), Array("source a".utf8))
        try writeFile(home.path("source/sub/b.bin"), SplitMix64.bytes(seed: 4, 300_000))
        try writeFile(home.path("outside/secret"), Self.secret)
        symlink("../outside/secret", home.path("source/link"))
        symlink("../outside", home.path("source/folder"))
    }

    private func makeDirectories(_ path: String) throws {
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    // MARK: Commands

    /// The commands of one round, except those of `syncs`.
    ///
    /// - Returns: operands and flags, without the server.
    private func commands() -> [[String]] {
        let (source, target) = (home.path("source"), home.path("target"))
        let mail = home.path("mail")
        return [
            ["list", "--recursive"], ["list", "in", "--json"], ["stat", "a", "sub"], ["cat", "a"], ["du"],
            ["pull", "in", "-o", target + "/"], ["pull", "in", "-o", target + "/", "--archive"],
            ["pull", "in", "-o", target + "/", "--on-conflict", "overwrite", "--lanes", "2"],
            ["pull", "*.txt", "-o", target + "/"],
            ["push", "\(source)/a.txt"], ["push", source, "--compress", "none"], ["push", source, "--archive"],
            ["push", "--text", "hello", "--name", "note"], ["push", "\(source)/a.txt", "--for", "bob", "--seal"],
            ["push", "\(source)/sub", "--for", "bob"],
            ["push", "\(source)/a.txt", "--receipts", home.path("receipts.jsonl")],
            ["watch", "--once", "--settle", "10ms", source],
            ["mkdir", "new"], ["copy", "a", "b"], ["move", "a", "b"], ["remove", "-r", "sub"],
            ["trash", "list"], ["trash", "restore", "a"],
            ["whoami"], ["people"], ["inbox"], ["sent", "--receipts", home.path("sent.jsonl")],
            ["receive", mail], ["receive", mail, "--no-open"],
            ["receive", mail, "--on-conflict", "overwrite", "--executable"],
            ["receive", mail, "--keep"], ["receive", "-o", "\(mail)/chosen"], ["receive", "-o", "-", "--keep"],
        ]
    }

    /// Commands that name the server with `--from`.
    private static let asking: Set = [
        "list", "stat", "cat", "du", "pull", "mkdir", "copy", "move", "remove", "trash",
    ]

    /// Sync commands, which name the server in an operand.
    private func syncs(_ address: String) -> [[String]] {
        let (source, target) = (home.path("source"), home.path("target"))
        return [
            ["sync", source, "\(address):/in"], ["sync", "\(address):/in", target],
            ["sync", "\(address):/in", target, "--delete"],
            ["check", source, "\(address):/in"],
        ]
    }

    // MARK: The promises

    @Test func noCommandBreaksAPromise() throws {
        let sample = try HostileSample(for: sealing, outside: home.path("outside"))
        for round in 0..<Self.rounds {
            for number in 0..<commands().count + syncs("").count where Self.only == nil || Self.only == number {
                let seed = UInt64(Self.seed + round) << 16 | UInt64(number)
                let server = try HostileServer(HostileScript(seed: seed, sample))
                defer { server.stop() }
                let all = commands().map { $0 + [Self.asking.contains($0[0]) ? "--from" : "--to", server.address] }
                let command = (all + syncs(server.address))[number]
                let arguments = command + ["--trust-new", "--retry-for", command[0] == "watch" ? "1s" : "0s"]
                try check(arguments, server, "seed \(Self.seed + round), \(arguments.joined(separator: " "))")
            }
        }
    }

    private func check(_ arguments: [String], _ server: HostileServer, _ what: String) throws {
        let before = try kept()
        var surroundings = Surroundings()
        surroundings.environment["XDG_CONFIG_HOME"] = home.path("config")
        surroundings.directory = home.path("source")
        let program = try Program(arguments, surroundings)
        let memory = PeakMemory(of: program)
        let ended = Result { try Finished(program) }
        server.stop()
        let script = server.script.withLock { $0 }
        guard case .success(let finished) = ended, case .exited(let code) = finished.end else {
            let last = script.transcript.suffix(40).joined(separator: "\n")
            Issue.record("\(what): \(ended)\n\(last)")
            return
        }
        // A command with invalid flags would test nothing.
        #expect(code != 2, "\(what): \(finished.errors)")
        #expect(try kept() == before, "\(what): something outside the target has changed")
        #expect(!contains(script.content, Self.secret), "\(what): what nobody named has left")
        for path in script.named { #expect(!path.contains("outside") && !path.contains("secret"), "\(what): \(path)") }
        let shown = finished.output + finished.errors
        let isContent = ["cat", "receive"].contains(arguments[0])
        #expect(isContent || !shown.utf8.contains(0x1B) && !shown.contains("\u{202E}"), "\(what): \(shown)")
        try checkSignatures(script, what)
        #expect(AttackScale.isLight || memory.most < Self.mostMemory, "\(what): \(memory.most >> 20) MiB")
    }

    /// Everything that must stay unchanged: paths with their types, and the content of files.
    private func kept() throws -> [String: [UInt8]] {
        var found: [String: [UInt8]] = [:]
        for folder in ["source", "outside"] {
            for path in try FileManager.default.subpathsOfDirectory(atPath: home.path(folder)) {
                let place = home.path("\(folder)/\(path)")
                var status = stat()
                #expect(lstat(place, &status) == 0)
                let facts = Array(
                    "\(status.st_mode) \(status.st_mtim.tv_sec).\(status.st_mtim.tv_nsec) \(status.st_nlink) ".utf8)
                let isFile = status.st_mode & S_IFMT == S_IFREG
                found["\(folder)/\(path)"] = facts + (isFile ? try readFile(place) : [])
            }
        }
        // A new name beside the directories that commands may write to is a change, too.
        for name in try FileManager.default.contentsOfDirectory(atPath: home.path) { found[name] = found[name] ?? [] }
        for name in ["target", "mail", "receipts.jsonl", "sent.jsonl"] { found[name] = nil }
        return found
    }

    private func contains(_ bytes: [UInt8], _ secret: [UInt8]) -> Bool {
        Data(bytes).range(of: Data(secret)) != nil
    }

    /// A client has the content for which it has signed, with the digest that it has signed, and names only a server
    /// that has proved its key.
    private func checkSignatures(_ script: HostileScript, _ what: String) throws {
        guard !script.signed.isEmpty else { return }
        var here: Set<[UInt8]> = []
        if let paths = FileManager.default.enumerator(atPath: home.path("mail")) {
            for case let path as String in paths {
                let place = home.path("mail/\(path)")
                var status = stat()
                guard lstat(place, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { continue }
                here.insert(script.sample.digest(try readFile(place), .sha256).bytes)
            }
        }
        for signed in script.signed {
            for server in [ServerKey(Bytes32()), HostileServer.key.key, HostileScript.victim.key] {
                let receipts = signed.settle.deliveries.compactMap { id in
                    script.listed[id].flatMap { receipt($0, signed, server) }
                }
                guard receipts.count == signed.settle.deliveries.count,
                    DeliveryBatch.lines(receipts, signature: signed.settle.signature ?? []) != nil
                else { continue }
                #expect(server != HostileScript.victim.key, "\(what): signed in the name of another server")
                for receipt in receipts {
                    let parcel = script.sample.parcels.first {
                        script.sample.digest($0.content, .sha256) == receipt.digest
                    }
                    let isHere =
                        here.contains(receipt.digest.bytes)
                        || parcel.map { here.contains(script.sample.digest($0.opened, .sha256).bytes) } ?? false
                    #expect(isHere, "\(what): signed for \(receipt.name), which is not here")
                }
            }
        }
    }

    private func receipt(
        _ listed: ListedDelivery, _ signed: HostileScript.Signed, _ server: ServerKey
    ) -> DeliveryReceipt? {
        guard let name = try? RelativePath(listed.name) else { return nil }
        return try? DeliveryReceipt(
            delivery: listed.id, to: "me", from: listed.person, name: name, kind: listed.kind, size: listed.size,
            digest: listed.digest, time: ReceiptTime(clamping: UInt64(max(0, signed.settle.time))),
            recipient: signed.key,
            server: server)
    }
}

/// The largest resident size of a program among the samples taken.
private final class PeakMemory: Sendable {
    private let peak = Locked(0)

    init(of program: Program) {
        _ = TestThread { [self] in
            while !program.hasEnded(within: 2) {
                guard let bytes = try? ServerMemory.bytes("VmHWM", program.process) else { continue }
                peak.withLock { $0 = max($0, bytes) }
            }
        }
    }

    /// The peak memory use in bytes.
    var most: Int { peak.withLock { $0 } }
}
