import Glibc
import TransferCodec
package import TransferIntake
package import TransferModel
import TransferPorts
package import TransferStore
import TransferSystem
import TransferTestSupport

/// The intake of a server on a simulated disk, with a catalog in memory and the promises of the server. It serves tests
/// that drive the rest of a server themselves, with contents that the simulation does not know.
package final class SimulatedGround {
    /// A server on the simulated disk.
    package struct Server {
        package let store: FileStore
        package let intake: Intake
    }

    private let directory: TemporaryDirectory
    private var number = 0
    private var path: String
    private var disk: SimulatedDisk
    private let records: SimulatedCatalog
    private var random: SplitMix64
    private let clock = VirtualClock()
    private var promises = Promises()
    private var contents: [[UInt8]] = []
    private var numbers: [[UInt8]: Int] = [:]

    /// The server that runs; nil if none has started.
    package private(set) var server: Server?

    package init(seed: UInt64) throws {
        random = SplitMix64(seed: seed)
        directory = try TemporaryDirectory(prefersMemory: true)
        records = try SimulatedCatalog(directory.path("catalog"))
        path = directory.path("0")
        mkdir(path, 0o755)
        disk = Self.disk(Medium(root: path, clock: clock), &random)
        records.isDead = { [unowned self] in disk.isDead }
        records.die = { [unowned self] in disk.die() }
        try start()
    }

    private static func disk(_ medium: Medium, _ random: inout SplitMix64) -> SimulatedDisk {
        SimulatedDisk(medium, seed: random.next(), forgetsDirectories: false, tells: false, trace: Trace())
    }

    // MARK: Servers

    /// Whether the process of the server has died in a call to the disk: nothing that it does has any effect, and no
    /// client receives its answers.
    package var isDead: Bool { disk.isDead }

    /// Ends the process. The caller ends the connections before it starts another server.
    package func kill() {
        disk.die()
    }

    /// Starts the next server on the state that the last one has left.
    ///
    /// - Parameter cuttingPower: whether the disk keeps only synced changes, and some of the others.
    package func start(cuttingPower: Bool = false) throws {
        if let server {
            kill()
            server.intake.multiparts.letGo(desertedUpTo: .max)
            server.store.unlock()
            self.server = nil
        }
        if cuttingPower {
            let old = path
            number += 1
            path = directory.path("\(number)")
            mkdir(path, 0o755)
            disk = Self.disk(disk.medium.cut(to: path, &random), &random)
            try records.cutPower(&random)
            try promises.settle(disk.medium) { contents[$0] }
            TemporaryDirectory.remove(old)
        } else {
            disk = Self.disk(disk.medium, &random)
        }
        let store = try FileStore(
            path: path, durability: .commit, limits: SpaceLimits(),
            fileSystem: FileSystem(isMemory: false, syncsAsAWhole: true), disk: disk.disk)
        let configuration = Intake.Configuration(
            maximumMultiparts: 4, filesAtOnce: 7, maximumUpload: 1 << 40, keepUnfinished: 7 * 86_400_000_000_000)
        let intake = Intake(
            configuration, store: store, records: try records.open(), signer: nil, clock: clock.clock
        ) { _ in }
        _ = intake.known.resolveIntended(in: store)
        _ = try? intake.expire(leftovers: true)
        intake.known.load()
        intake.forgetUnfinished()
        server = Server(store: store, intake: intake)
    }

    // MARK: Faults

    /// Makes one of the next calls to the disk fail.
    ///
    /// - Parameters:
    ///   - kind: number of a `SimulatedDisk.Fault.Kind`.
    ///   - wait: number of calls that pass before the fault, of those in which it can occur.
    package func failDisk(_ kind: UInt32, after wait: UInt32) {
        let kinds = SimulatedDisk.Fault.Kind.allCases
        disk.arm(SimulatedDisk.Fault(kind: kinds[Int(kind) % kinds.count], wait: wait))
    }

    /// Makes one of the next calls to the catalog fail.
    package func failRecords(after calls: UInt32) {
        records.fail(calls, after: calls)
    }

    package func mend() {
        disk.arm(nil as SimulatedDisk.Fault?)
        records.mend()
    }

    // MARK: Promises

    /// Checks every name that has changed.
    ///
    /// - Parameters:
    ///   - removes: whether a client has asked for a removal.
    ///   - isWhole: whether a content may have a name.
    package func noteNames(removes: Bool, _ isWhole: ([UInt8]) -> Bool) throws {
        for naming in disk.takeNamings() {
            guard let object = naming.object else {
                if removes { promises.changed(naming.path) }
                continue
            }
            guard let seen = disk.medium.seen(of: object) else { continue }
            guard isWhole(seen) else { throw Promises.Broken("\(naming.path) got a name, and is no whole upload") }
            promises.published(contentNumber(seen), at: naming.path)
        }
    }

    /// Records that a client has received the acknowledgement of a durably stored content.
    package func acknowledged(_ digest: Digest, size: UInt64, at path: String) throws {
        let found = contents.indices.last { index in
            contents[index].count == size && Self.digest(of: contents[index], digest.algorithm.function) == digest
        }
        guard let found else { throw Promises.Broken("\(path) was acknowledged with a content that never had a name") }
        try promises.acknowledged(found, at: path, since: promises.changes, upTo: promises.publications)
    }

    /// Checks that a power cut now would leave everything that was promised.
    package func check() throws {
        try promises.check(disk.medium) { contents[$0] }
    }

    package static func digest(of content: [UInt8], _ function: DigestFunction) -> Digest {
        let digester = ContentDigester(function)
        content.withUnsafeBytes { digester.update($0) { _, _ in } }
        return digester.finish().digest
    }

    private func contentNumber(_ content: [UInt8]) -> Int {
        if let known = numbers[content] { return known }
        contents.append(content)
        numbers[content] = contents.count - 1
        return contents.count - 1
    }
}
