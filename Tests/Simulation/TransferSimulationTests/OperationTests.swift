import Glibc
import Testing
import TransferIntake
import TransferPorts
import TransferProtocol
import TransferSimulation
import TransferTestSupport

@testable import TransferSimulation

/// The simulator does what the product can do. An addition to the product needs an entry here that says how it is
/// simulated.
@Suite struct OperationTests {
    /// How an ability of the product is simulated, or why it need not be simulated.
    enum Simulated {
        case by([TransferSimulation.Operation])
        case not(because: String)

        static func by(_ operations: TransferSimulation.Operation...) -> Simulated { .by(operations) }

        var operations: [TransferSimulation.Operation] { if case .by(let operations) = self { operations } else { [] } }

        /// Whether the entry names operations or gives a reason.
        var isStated: Bool {
            switch self {
            case .by(let operations): !operations.isEmpty
            case .not(let reason): reason.count > 8
            }
        }
    }

    // MARK: What is really done

    /// A run that breaks a promise does not count here, because another test reports it.
    private static let reached: Simulation.Figures = {
        var figures = Simulation.Figures()
        // Some kinds of steps and operations are only for the servers of a cluster.
        for seed in 100_000..<100_020 as Range<UInt64> {
            do throws(Simulation.FailedRun) {
                figures.add(try Simulation(store: .cluster, shrinks: false).run(seed: seed))
            } catch {}
        }
        figures.done.formIntersection([.rewrite])
        for seed in 100_000..<100_400 as Range<UInt64> {
            do throws(Simulation.FailedRun) {
                figures.add(try Simulation(shrinks: false).run(seed: seed))
            } catch {}
            let isAll =
                figures.done.count == Operation.allCases.count && figures.kinds.count == Step.Kind.allCases.count
            if isAll { break }
        }
        return figures
    }()

    @Test func everyOperationSucceedsSomewhere() {
        let missing = Operation.allCases.filter { !Self.reached.done.contains($0) }
        #expect(missing.isEmpty, "\(missing) have never succeeded in \(Self.reached.runs) runs")
    }

    @Test func everyKindOfStepIsTaken() {
        let missing = Step.Kind.allCases.filter { !Self.reached.kinds.contains($0) }
        #expect(missing.isEmpty, "\(missing) were never taken in \(Self.reached.runs) runs")
    }

    // MARK: What the product can do

    @Test(arguments: TreeChange.Kind.allCases) func changesOfNames(_ kind: TreeChange.Kind) {
        #expect(Self.reached.done.contains(Operation(kind)))
    }

    @Test(arguments: FunctionCode.allCases) func frames(_ code: FunctionCode) {
        #expect(Self.simulated(code).isStated, "\(code)")
    }

    @Test(arguments: MakeRequest.Form.allCases) func whatIsMade(_ form: MakeRequest.Form) {
        #expect(Self.simulated(form).isStated, "\(form)")
    }

    private static func simulated(_ code: FunctionCode) -> Simulated {
        switch code {
        case .hello, .welcome, .ping, .pong: .not(because: "nothing is changed by who speaks, or that somebody does")
        case .goodbye: .by(.suspend)
        case .begin: .by(.begin, .part, .grow, .sealParts, .mail)
        case .accept, .received, .result, .unknown, .entries, .file, .outcome, .persons, .deliveries, .arrived:
            .not(because: "it is an answer")
        case .data: .by(.append, .part, .grow)
        case .block, .cancel: .not(because: "it only ends early what is under way, or says that a block is wrong")
        case .end: .by(.seal, .sealParts, .publish, .acknowledge)
        case .abort: .by(.abort, .takeBack, .takeBackAppend)
        case .resume, .have: .by(.survey)
        case .lookup: .by(.lookup)
        case .receipts: .by(.sign)
        case .list, .fetch, .people, .mail: .not(because: "it reads, and changes nothing but what a scrub would find")
        case .compare: .by(.compareFolders)
        case .remove: .by(.remove, .emptyTrash, .discard)
        case .make: .by(.makeFolder, .makeLink, .makeHardLink, .setAttributes, .copy, .keep)
        case .move: .by(.move, .restore, .keep)
        case .settle: .by(.receiveMail, .declineMail)
        case .introduce: .by(.introduce)
        }
    }

    private static func simulated(_ form: MakeRequest.Form) -> Simulated {
        switch form {
        case .nothing: .by(.setAttributes)
        case .directory: .by(.makeFolder)
        case .symbolicLink: .by(.makeLink)
        case .hardLink: .by(.makeHardLink)
        case .copy: .by(.copy)
        }
    }

    // MARK: Entry points

    /// Functions of the intake and of the mailroom that other targets can call, by file, and how they are simulated.
    private static let entries: [String: Simulated] = [
        "Adoption begin": .by(.adopt), "Adoption step": .by(.adopt),
        "Adoption stop": .not(because: "a simulated server only ends by death, which leaves more behind"),
        "MultipartUploads letGo": .by(.part), "CommitPipeline acknowledge": .by(.acknowledge),
        "FolderComparison step": .by(.compareFolders),
        "CallerQuotas quota": .by(.copy, .begin), "CallerQuotas removed": .by(.remove),
        "Intake expire": .by(.expire), "Intake forgetUnfinished": .by(.takeBack),
        "MailDelivery expire": .by(.expireMail), "MailDelivery free": .by(.receiveMail, .declineMail),
        "MailDelivery sweep": .by(.sweepMail),
        "IntakeSession acknowledge": .by(.acknowledge), "IntakeSession begin": .by(.begin, .part, .grow),
        "IntakeSession abort": .by(.abort, .takeBack), "IntakeSession giveReceipts": .by(.sign),
        "IntakeSession have": .by(.survey), "IntakeSession leave": .by(.suspend),
        "IntakeSession lookup": .by(.lookup), "IntakeSession publish": .by(.publish),
        "IntakeSession refuse": .by(.part, .append), "IntakeSession finish": .by(.seal, .sealParts),
        "IntakeSession+Append unfinishedAppend": .by(.grow), "IntakeSession+Append takeBack": .by(.takeBackAppend),
        "Intake publish": .by(.copy), "TrashRoom giveWay": .by(.giveWay),
        "KnownUploads+Changes resolveIntended": .by(.resolveChanges),
        "KnownUploads hasStored": .by(.publish), "KnownUploads+Rotten acknowledged": .by(.heal),
        "KnownUploads+Rotten add": .by(.scrub), "KnownUploads forget": .by(.remove), "KnownUploads load": .by(.lookup),
        "KnownUploads recordUnfinished": .by(.part), "KnownUploads index": .by(.compareFolders),
        "KnownUploads indexIfNeeded": .by(.remove),
        "PresenceQuery step": .by(.survey),
        "Caller renew": .by(.restrict), "IntakeSession reauthorize": .by(.restrict),
        "OpenUpload write": .by(.append, .part), "OpenUpload suspend": .by(.suspend),
        "OpenUpload announce": .by(.grow),
        "TreeChanges begin": .by(.remove), "TreeChanges commit": .by(.remove, .emptyTrash),
        "TreeChanges goOn": .by(.remove),
        "TreeChanges perform": .by(.move, .discard, .makeHardLink),
        "Mailroom close": .by(.mail), "Mailroom fetched": .by(.fetchMail), "Mailroom introduce": .by(.introduce),
        "Mailroom queue": .by(.mail), "Mailroom remember": .by(.introduce),
        "Mailroom settle": .by(.receiveMail, .declineMail), "Mailroom expire": .by(.expireMail),
        "Mailroom admit": .by(.mail),
        "Mailroom tell": .not(because: "a simulated store publishes for good, and the mailroom tells by itself"),
        "Mailroom announces": .not(because: "it only wakes the clients of other servers, which look by themselves"),
        "Mailroom heard": .not(because: "it only wakes clients, which look by themselves"),
        "Mailroom mayHaveMissed": .not(because: "it only wakes clients, which look by themselves"),
        "Mailroom takeUnproven": .not(because: "older programs send with names of their own, without keys"),
        "OpenUpload check": .not(because: "it refuses a block before its end, as a wrong digest does there"),
        "KnownUploads close": .not(because: "a simulated server only ends by death, which leaves more behind"),
    ]

    /// Functions that only read or compute, and change no state.
    private static let readers: Set<String> = [
        "Caller allowed", "Caller pathForChanging", "Caller inner", "Caller pathForMaking", "Caller maximumUpload",
        "Caller outer",
        "Caller pathForRemoving", "Caller pathForReading", "Caller clientPath", "Caller redacted", "Caller pathInTrash",
        "IntakeSession+Append read", "IntakeSession receipt",
        "KnownUploads+Rotten isRotten", "KnownUploads+Rotten contentLost", "KnownUploads count",
        "KnownUploads entries", "KnownUploads entry", "KnownUploads totals", "OpenUpload digest",
        "UploadAdmission uploadTooLarge",
        "UploadIntent range", "Mailroom person", "Mailroom sealingKey", "Mailroom isTaken", "Mailroom isKnown",
        "Mailroom enter", "Mailroom leave", "Mailroom watch", "Mailroom isHere", "Intake receiptKeyProof",
    ]

    @Test func everyEntryPointIsSimulated() throws {
        let found = try Self.entryPoints()
        #expect(found.count > 50)
        for name in found.sorted() where !Self.readers.contains(name) {
            #expect(Self.entries[name]?.isStated ?? false, "Nothing says how \(name) is simulated.")
        }
        let gone = (Set(Self.entries.keys).union(Self.readers)).subtracting(found)
        #expect(gone.isEmpty, "There is no \(gone.sorted()) any more.")
        #expect(Self.readers.isDisjoint(with: Self.entries.keys))
    }

    /// Functions that other targets can call.
    private static func entryPoints() throws -> Set<String> {
        let root = "/" + #filePath.split(separator: "/").dropLast(4).joined(separator: "/")
        var found: Set<String> = []
        for path in files(below: root + "/Sources/TransferIntake") + [root + "/Sources/TransferMail/Mailroom.swift"] {
            let file = path.split(separator: "/").last?.dropLast(".swift".count) ?? ""
            for line in try text(of: path).split(separator: "\n") {
                guard let rest = line.split(separator: "package ", maxSplits: 1).last, line.contains("package "),
                    let start = rest.firstRange(of: "func "), !line.contains("//")
                else { continue }
                let name = rest[start.upperBound...].prefix { $0.isLetter || $0.isNumber }
                found.insert("\(file) \(name)")
            }
        }
        return found
    }

    private static func files(below folder: String) -> [String] {
        guard let directory = opendir(folder) else { return [] }
        defer { closedir(directory) }
        var found: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name.hasPrefix(".") { continue }
            if name.hasSuffix(".swift") { found.append(folder + "/" + name) }
            if entry.pointee.d_type == DT_DIR { found += files(below: folder + "/" + name) }
        }
        return found
    }

    private static func text(of path: String) throws -> String {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        try #require(file >= 0, "\(path)")
        defer { close(file) }
        var (text, buffer) = ([UInt8](), [UInt8](repeating: 0, count: 64 << 10))
        while case let count = read(file, &buffer, buffer.count), count > 0 { text += buffer[..<count] }
        return String(decoding: text, as: UTF8.self)
    }
}
