import TransferModel
import TransferTestSupport

/// What can happen in one run, and how often. Each run has its own mix: events that are rare over all runs are frequent
/// in some of them, and so are combinations of rare events.
///
/// Recorded cases contain all properties that a world reads (`Mix.fields`), and must play in the same way after this
/// type has changed: the default of a new property is the value that changes nothing.
struct Mix: Sendable {
    /// Kind of store that servers use.
    var store = Simulation.StoreKind.directory
    /// How often each kind of step occurs.
    let weights: [(kind: Step.Kind, weight: Int)]
    /// Faults that the disk can have; empty if it never fails.
    var faults: [SimulatedDisk.Fault.Kind] = []
    /// Frequency of faults: one of `durable` steps that make something durable has a fault, and one of `other` steps of
    /// the other kinds.
    var faultRates: (durable: UInt32, other: UInt32) = (3, 24)
    /// The largest number of calls that pass before a fault.
    var faultWait: UInt32 = 4
    /// Frequency of interruptions: one of this many steps that other connections and programs can interrupt is
    /// interrupted.
    var interludeRate: UInt32 = 1
    var names = ["a"]
    /// Whether there are paths in directories that do not exist yet.
    var hasFreshDirectories = false
    var conflicts: [ConflictPolicy] = [.keepBoth]
    /// Sizes of uploads in one piece, in bytes.
    var sizes = [1]
    /// Number of connections at the same time.
    var sessions = 2
    /// One of this many uploads has the content of another upload; 0 if no upload has.
    var sharing: UInt32 = 0
    /// Number of steps in the run.
    let length: Int
    var givesReceipts = false
    var syncsAsAWhole = false
    /// Whether the server has mailboxes in this run.
    var hasMail = false
    /// Bytes that the server may store; nil for no limit.
    var quota: UInt64?
    /// Bytes that the client which may not replace everything may store; nil for no limit.
    var guestQuota: UInt64?
    /// Whether another disk is mounted in the server's directory.
    var hasSecondDisk = false
    /// Whether some uploads depend on the present file at their path.
    var hasConditions = false
    /// Whether changes of names belong to commands, as uploads do, and are made for clients with limits.
    var hasCommands = false
    /// Whether replaced files go to the trash.
    var keepsReplaced = false
    /// Whether the file system can rename only by replacing, as NFS does.
    var renamesByReplacing = false
    /// Number of servers of a cluster.
    var nodes = 2
    /// Faults that the bucket and the database of a cluster can have; empty if they never fail.
    var clusterFaults: [ClusterFault] = []

    private static let names = ["a", "b", "c", "d/a", "d/b", "e/a", "e/f/a", "e/f/g/a"]

    /// Sizes around the boundaries that matter, all of them small enough for a simulation.
    private static let sizes = [0, 1, 100, 4095, 4096, 5000, 9000]

    /// The mix of a recorded case, which has its own steps.
    init() {
        (weights, length) = ([], 0)
    }

    /// - Parameter parts: whether blocks are small enough for many uploads in parts.
    init(_ random: inout SplitMix64, parts: Bool) {
        let hasMail = random.next() % 3 == 0
        self.hasMail = hasMail
        let isEven = random.next() % 4 == 0
        var weights: [(kind: Step.Kind, weight: Int)] = []
        for kind in Step.Kind.allCases where !kind.isOfCluster {
            let factor =
                isEven ? 2 : kind.isNeeded ? [2, 2, 4][Int(random.next() % 3)] : [0, 1, 2, 8][Int(random.next() % 4)]
            // Long blocks take much time, so uploads in parts are rarer then.
            weights.append((kind, kind.weight(parts: parts) * (kind.isInParts && !parts ? min(1, factor) : factor)))
        }
        self.weights = weights.filter { $0.weight > 0 && (hasMail || !$0.kind.isMail) }
        faults = random.next() % 8 == 0 ? [] : Self.some(SimulatedDisk.Fault.Kind.allCases, &random)
        faultRates = [(2, 12), (3, 24), (8, 64)][Int(random.next() % 3)]
        faultWait = [2, 4, 8, 16][Int(random.next() % 4)]
        interludeRate = [1, 2, 4][Int(random.next() % 3)]
        hasSecondDisk = random.next() % 4 == 0
        guestQuota = random.next() % 3 == 0 ? [40_000, 150_000][Int(random.next() % 2)] : nil
        names = Self.some(Self.names, &random) + (hasSecondDisk ? ["a", "b"].map { "\(Medium.mount)/\($0)" } : [])
        hasFreshDirectories = random.next() % 2 == 0
        conflicts = Self.some(ConflictPolicy.allCases, &random)
        sizes = Self.some(Self.sizes, &random)
        sessions = 2 + Int(random.next() % 3)
        sharing = [0, 8, 3][Int(random.next() % 3)]
        length = [60, 120, 240][Int(random.next() % 3)] / (parts ? 1 : 2)
        givesReceipts = random.next() % 8 == 0
        syncsAsAWhole = random.next() % 2 == 0
        quota = random.next() % 3 == 0 ? [16_000, 40_000, 200_000][Int(random.next() % 3)] : nil
        hasConditions = random.next() % 2 == 0
        hasCommands = random.next() % 2 == 0
        keepsReplaced = random.next() % 4 > 0
        renamesByReplacing = random.next() % 4 == 0
    }

    /// The mix for the servers of a cluster.
    ///
    /// - Parameter parts: whether blocks are small enough for uploads in parts.
    init(ofCluster random: inout SplitMix64, parts: Bool) {
        self.init(
            length: [40, 80, 160][Int(random.next() % 3)],
            weights: Step.Kind.allCases.compactMap { kind in
                guard let weight = kind.weightInCluster, parts || !kind.isInParts else { return nil }
                let factor = kind.isNeeded ? 2 : [0, 1, 2, 6][Int(random.next() % 4)]
                return factor == 0 ? nil : (kind, weight * factor)
            })
        store = .cluster
        nodes = 2 + Int(random.next() % 3)
        clusterFaults = random.next() % 8 == 0 ? [] : Self.some(ClusterFault.allCases, &random)
        faultRates.durable = [2, 4, 12][Int(random.next() % 3)]
        faultWait = [1, 2, 4, 8][Int(random.next() % 4)]
        interludeRate = [1, 2, 4][Int(random.next() % 3)]
        names = Self.some(Array(Self.names.prefix(6)), &random)
        conflicts = Self.some(ConflictPolicy.allCases, &random)
        sizes = Self.some(Self.sizes + (parts ? [20_000, 70_000] : []), &random)
        sharing = [0, 8, 3][Int(random.next() % 3)]
        givesReceipts = random.next() % 8 == 0
        keepsReplaced = random.next() % 2 == 0
    }

    private init(length: Int, weights: [(kind: Step.Kind, weight: Int)]) {
        (self.length, self.weights) = (length, weights)
    }

    /// The mix for another store. In memory nothing fails, there is no second disk, and other programs change nothing.
    func over(_ store: Simulation.StoreKind) -> Mix {
        var mix = self
        mix.store = store
        if !store.isOnDisk { (mix.faults, mix.hasSecondDisk) = ([], false) }
        return mix
    }

    /// Chooses at least one element, and mostly few of them.
    private static func some<T>(_ all: [T], _ random: inout SplitMix64) -> [T] {
        if random.next() % 4 == 0 { return all }
        let count = 1 + Int(random.next() % UInt64(all.count)) * Int(random.next() % 3) / 2
        return Array(all.shuffled(using: &random).prefix(count))
    }
}

extension Step.Kind {
    /// Whether little happens in runs without this kind of step.
    fileprivate var isNeeded: Bool {
        switch self {
        case .begin, .append, .end, .publish, .acknowledge, .batch, .allParts: true
        default: false
        }
    }

    /// Whether the step is only for a cluster.
    fileprivate var isOfCluster: Bool { [.proceed, .failOver, .sweep].contains(self) }

    /// How often the step occurs in a cluster; nil for steps about disks.
    fileprivate var weightInCluster: Int? {
        switch self {
        case .batch: 24
        case .askAgain: 20
        case .publish, .acknowledge, .vanish, .expire, .takeBack, .mend: 2
        case .lookup: 8
        case .part, .allParts, .grow: 12
        case .survey, .finishParts, .remove, .copy: 4
        case .rearrange: 8
        case .discard, .restore, .kill, .failOver: 3
        case .wait, .sweep: 6
        case .proceed: 30
        default: nil
        }
    }

    /// Whether the step is about mailboxes.
    fileprivate var isMail: Bool {
        switch self {
        case .mail, .mailAgain, .settle, .expireMail, .introduce, .failLedger: true
        default: false
        }
    }

    /// Whether the step belongs to uploads in whole blocks.
    fileprivate var isInParts: Bool {
        switch self {
        case .part, .finishParts, .survey, .allParts, .breakOff, .takeBack: true
        default: false
        }
    }

    fileprivate func weight(parts: Bool) -> Int {
        switch self {
        case .begin: 14
        case .append: 16
        case .end: 14
        case .publish: 12
        case .acknowledge: 10
        case .batch: 4
        case .resend: 2
        case .overtake: 1
        case .askAgain: 10
        case .part: parts ? 12 : 1
        case .finishParts: parts ? 5 : 1
        case .survey: parts ? 4 : 1
        case .allParts: parts ? 6 : 1
        case .breakOff: parts ? 2 : 1
        case .takeBack: 1
        case .grow: 14
        case .vanish: 3
        case .fade: 3
        case .haunt: 7
        case .abort: 1
        case .lookup: 4
        case .change: 3
        case .scrub: 2
        case .wait: 1
        case .expire: 1
        case .kill: 2
        case .rest: 1
        case .powerCut: 2
        case .failDisk: 2
        case .failRecords: 2
        case .mend: 4
        case .mail: 14
        case .mailAgain: 8
        case .settle: 10
        case .expireMail: 2
        case .introduce: 2
        case .failLedger: 6
        case .rearrange: 6
        case .discard: 2
        case .restore: 2
        case .remove: 1
        case .copy: 2
        case .migrate: 1
        case .restrict: 1
        case .proceed, .failOver, .sweep: 0
        }
    }
}
