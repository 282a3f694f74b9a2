import Glibc
import TransferAccess
import TransferCatalog
import TransferCodec
import TransferIntake
import TransferKeys
import TransferMail
import TransferModel
import TransferReceipts
import TransferPorts
import TransferStore
import TransferSystem
import TransferTestSupport

/// The intake of a server with its store on a simulated disk or in memory, its callers, and the promises of the server.
final class World {
    struct Options {
        let mix: Mix
        /// Whether no other code of this process opens or closes descriptors during the run.
        var countsDescriptors = false
        /// A planted mistake of the disk: syncs of directories are reported without being made.
        var forgetsDirectories = false
        /// A planted mistake of the server: the catalog does not keep intended changes of names.
        var forgetsIntended = false
        /// Whether steps, and calls to the disk, are printed.
        var tells = false
    }

    let options: Options
    var mix: Mix { options.mix }
    let directory: TemporaryDirectory
    /// Place of the directory, as a mark in it says; nil if the directory has no mark, or that of another disk.
    let home = SimulatedHome()
    /// Whether the directory was ever copied. A server that need not look for a copy makes no calls to do so.
    var hasMigrated = false
    /// Number of power cuts so far, each of which leaves another directory.
    var number = 0
    var path: String
    /// A simulated disk, or memory in its place.
    var disk: any SimulatedStorage
    let records: SimulatedCatalog
    /// Ledger of the mailboxes; nil in a world without mailboxes.
    let ledger: SimulatedLedger?
    var mailroom: Mailroom?
    var mails: [SentMail] = []
    /// Rows that the ledger had at the last check.
    var rows: [MailKey: MailRow] = [:]
    /// Last row of each delivery in each state that the delivery has had.
    var earlierRows: [MailKey: [DeliveryState: MailRow]] = [:]
    /// Rows of deliveries that had ended and are no longer in the ledger.
    var forgotten: [MailKey: MailRow] = [:]
    /// States that recipients have reported for their deliveries.
    var said: [MailKey: Said] = [:]
    /// Whether a step has just looked for deliveries that have waited for too long.
    var mayExpire = false
    var checkedMail: (medium: Int, ledger: Int)?
    let signer: ServerIdentity?
    var store: (any ServerStore)?
    var intake: Intake?
    var sessions: [Session?]
    /// Connections whose clients have gone.
    var ghosts: [Session] = []
    /// Session between whose calls other connections may act now.
    var busy: Session?
    /// The upload in parts that these calls are about.
    var busyUpload: Int?
    /// Number of steps between the calls of another step.
    var stepsBetween = 0
    /// Error of a step between the calls of another step.
    var trouble: (any Error)?
    var connections = 0
    /// Number that grows with each answer and each start of a server.
    var moment = 0
    /// Number of servers so far.
    var servers = 0
    var random: SplitMix64
    let clock = VirtualClock()
    var uploads: [Upload] = []
    var contents: [[UInt8]] = []
    /// Contents by their first bytes, which distinguish most contents and are fast to look up.
    var beginnings: [[UInt8]: [Int]] = [:]
    var promises = Promises()
    /// Bytes that other programs have removed and that the server still counts.
    var strayBytes = 0
    /// Whether answers of the server reach no client now, because the client of the connection has gone.
    var isUnheard = false
    /// Whether the world does not know how many bytes a server has to count.
    var isMiscounted = false
    /// Paths under which connections have replaced a file, with the number of the newest of these connections.
    var overwriters: [String: Int] = [:]
    /// Paths of files that the disk has damaged, and whether the server knows about the damage.
    var rotten: [String: Bool] = [:]
    /// Contents of damaged files that were reported to the server.
    var knownRot: [Medium.Object: [UInt8]] = [:]
    var callers: [Caller]
    /// Whether the second client may send. The client may lose this right in the middle of an upload.
    var guestMaySend = true
    /// Operations in which servers have succeeded, and kinds of steps that were taken.
    var done: Set<Operation> = []
    var kinds: Set<Step.Kind> = []
    /// Keys that the server has confirmed, by the names of the recipients.
    var sealingKeys: [String: [UInt8]] = [:]
    /// Directories that other programs have removed under this server.
    var removedDirectories: [String] = []
    /// Directories that this server has made durable.
    var durableDirectories: Set<String> = []
    /// Contents that may be stored several times, because files were copied, moved or linked.
    var copied: Set<Int> = []
    /// Contents of files that a server touches when it removes a second name, by path.
    var touched: [String: Int] = [:]
    /// Contents that other programs have written or copied, and those that the disk has damaged, by path.
    var foreign: [String: Set<[UInt8]>] = [:]
    /// Files that commands have stored and must not replace, with the last change of the content and the server.
    var commandFiles: [Medium.Object: CommandFile] = [:]
    /// Every name that a whole upload has got so far.
    var log:
        [(path: String, content: Int, object: Medium.Object?, replaced: [UInt8]?, replacedObject: Medium.Object?)] = []
    /// Number of open descriptors of this process before the first server.
    let descriptors: Int
    /// Numbers of receipts that were given.
    var receiptNumbers: Set<UInt64> = []
    /// Claims of the parts that clients are sending.
    var claims: [Claim] = []
    /// Number of trash batches so far.
    var trashBatches: UInt32 = 0
    /// Paths in the trash that files have in addition to their own names, which another object is about to take or has
    /// taken.
    var keptLinks: [Medium.Object: Set<String>] = [:]
    /// Number of replaced files so far that the server has kept in the trash.
    var kept = 0
    /// Whether the server has reported in this step that the trash has given way, and the files that have lost their
    /// names in the trash since the last check.
    let givenWay = SharedFlag()
    var lostFromTrash: [(path: String, object: Medium.Object)] = []
    /// Files that were kept in this step and have lost their names in the trash again, while they still had their own
    /// names.
    var lostWhileKept: Set<Medium.Object> = []
    /// Whether any file has got a second name. A server counts second names when it starts, and not when they are made.
    var hasLinked = false
    /// Number of new directories in paths so far.
    var freshDirectories = 0
    /// Changes of names in this step, and the moves that they have made so far.
    var changing: [TreeChange] = []
    var moves: [SimulatedDisk.Move] = []
    /// Files that the catalog had only under the paths of other files when these changes began.
    var misplaced: Set<Medium.Object> = []
    /// Session whose command makes the changes; nil if they belong to no command.
    var changer: Session?
    /// Time of the last move to each path, counted in changes as the promises count them.
    var arrivals: [String: Int] = [:]
    /// Versions at the last check: a state that has not changed since needs no new check.
    var checked: (medium: Int, promises: Int)?
    let trace = Trace()
    /// Number of calls to earlier disks.
    var earlierCalls: UInt64 = 0

    /// Number of failed syncs on earlier disks.
    var earlierFailedSyncs = 0

    var calls: UInt64 { earlierCalls + disk.calls }

    var failedSyncs: Int { earlierFailedSyncs + disk.failedSyncs }

    init(_ options: Options, seed: UInt64) throws {
        self.options = options
        callers = Caller.simulated(guestQuota: options.mix.guestQuota)
        random = SplitMix64(seed: seed)
        directory = try TemporaryDirectory(prefersMemory: true)
        records = try SimulatedCatalog(directory.path("catalog"), forgetsIntended: options.forgetsIntended)
        path = directory.path("0")
        mkdir(path, 0o755)
        descriptors = options.countsDescriptors ? Self.openDescriptors : 0
        signer = options.mix.givesReceipts ? ServerIdentity() : nil
        ledger = options.mix.hasMail ? try SimulatedLedger(directory.path("ledger")) : nil
        sessions = Array(repeating: nil, count: options.mix.sessions)
        switch options.mix.store {
        case .directory:
            var medium = Medium(root: path, clock: clock)
            if options.mix.hasSecondDisk { medium.mountSecond(in: path) }
            disk = SimulatedDisk(
                medium, seed: random.next(), forgetsDirectories: options.forgetsDirectories,
                renamesByReplacing: options.mix.renamesByReplacing, tells: options.tells, trace: trace)
        // A cluster has a world of its own (`ClusterWorld`).
        case .memory, .cluster: disk = SimulatedMemory(root: path, clock: clock, trace: trace)
        }
        records.isDead = { [unowned self] in disk.isDead }
        records.die = { [unowned self] in disk.die() }
        try start()
    }

    func wait(_ seconds: Int64) {
        clock.wait(seconds * 1_000_000_000)
        intake?.multiparts.letGo(desertedUpTo: clock.clock.monotonic() - 60_000_000_000)
    }
}
