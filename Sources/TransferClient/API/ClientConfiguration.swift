import Glibc
import TransferCodec
import TransferHTTP
public import TransferKeys
public import TransferModel
import TransferProtocol
import TransferSealing

/// What a program that pushes can choose.
public struct ClientConfiguration: Sendable {
    /// How frames are compressed on the wire: by this client, and by the server in what it is asked for, which then decides
    /// itself when that pays.
    public enum Compression: String, Sendable, CaseIterable {
        /// Not at all.
        case none
        /// zlib, frame by frame; a frame that doesn't shrink goes out as it is.
        case zlib
        /// zstd, frame by frame, where the server takes it, and zlib where it does not or has not said yet.
        case zstd
        /// What makes the content arrive soonest: nothing unless the link is the bottleneck, the codec is faster and the
        /// content shrinks; then zlib where the processor would be the next bottleneck, and zstd where it would not.
        case auto
    }

    /// How frames are compressed.
    public var compression = Compression.auto

    /// How hard zlib tries, or zstd where that was chosen, 1 (fast) to 9 (small). `auto` chooses that of zstd itself.
    public var compressionLevel = 1

    /// How connections are protected.
    public enum Security: Sendable {
        /// TLS, with the server that is trusted.
        case tls(ServerTrust)
        /// Not at all.
        case plaintext
    }

    /// How connections are protected.
    public var security = Security.tls(ServerTrust())

    /// What is spoken where the server is older than this protocol; nothing for this protocol. Only with `plaintext`.
    package var classic: ClassicTarget?

    /// Whether what is not encrypted may go to this machine only, whatever `security` says; over HTTP.
    package var isPlainOnlyHere = false

    /// The folder, of this user's own, for what a later run needs to go on with uploads to servers of tus; nothing to begin anew
    /// then. It need not be there.
    package var uploadStates: String?

    /// The key that servers know this client by; shown inside TLS only, and nothing shows none.
    package var key: KeyPair?

    /// Whether uploads are sealed for the recipients: the server can neither read them nor sees what they are called. See
    /// `useSealing`.
    public var seals = false

    /// What this client seals for others with, and opens what was sealed for it; nothing to do neither.
    package var sealing: SealingIdentity?

    /// What this client shows to be let in, a token or a pairing code; sent inside TLS only.
    public var token: String?

    /// What to do where the server's name leads nowhere, before what there is to say to everybody; mostly nothing.
    package var nameAdvice = ""

    /// What servers may call this client, when it is new to them.
    package var machineName = ""

    /// Connections to the server for one push.
    public enum Lanes: Sendable, Equatable {
        /// As many as pay: four, or one where there is only one core, and no more than there is work for. Encrypted, one for
        /// each core in the first seconds. Over a far line where TCP takes losses for a full queue, two, and up to 32 as long as
        /// more carry more.
        case auto
        /// That many at most, 1 to `mostLanes`, and one for each 1,024 bytes a second of `bandwidth`.
        case fixed(Int)
    }

    /// Connections to the server for one push. More than one carry several files at once, and a long file in parts.
    public var lanes = Lanes.auto

    /// The hash function that guards the content. Nil selects `sha256` if there are `recipients`, because recipients sign for no
    /// other digest, and `xxh128` otherwise.
    public var digest: DigestFunction?

    /// The hash function that is used, with the default for nil.
    package var digestFunction: DigestFunction {
        digest ?? (recipients.isEmpty ? .xxh128 : .sha256)
    }

    /// What the server does when a name is taken by other content.
    public var conflict = ConflictPolicy.keepBoth

    /// Whether a pull reads what is here and compares its content, also where size and time of modification are those on the
    /// server.
    public var comparesContent = false

    /// Whether a push and a pull keep of a tree what a sync keeps: folders, also empty ones, with their permissions and times;
    /// symbolic links as links, that are named, too; hard links; permissions as they are, extended attributes, and owners where
    /// whoever stores is root. Files that are there already get these as well. It takes a server that can do it; nothing of it
    /// goes over HTTP, in classic framings or to people. All uploads are asked for before anything is sent, and everything is
    /// looked at twice.
    public var archives = false

    /// What is kept of files beside their content and their time of modification: permissions as they are, extended attributes,
    /// and owners. It takes a server that can (feature `trees`).
    package struct KeptAttributes: Equatable, Sendable {
        /// Whether owners are kept, which takes root on the side that stores.
        package var owners: Bool

        package init(owners: Bool) { self.owners = owners }
    }

    /// What is kept of a file that is sent; nothing where a server makes it a new file as any other.
    package var kept: KeptAttributes?

    /// The people that uploads are for: those of these names in the server's lists of who may come in. They get them, each for
    /// itself, and nobody else does; without any, uploads are stored under their paths. A push to somebody who has no mailbox,
    /// or who takes nothing from this client, is refused before any content is sent. Their names take `mostRecipientBytes`
    /// together.
    public var recipients: [String] = []

    /// Bytes of all names with one more for each: as many as the protocol has room for.
    public static let mostRecipientBytes = Recipients.mostBytes

    /// Seconds for which a lost connection is tried again before the push gives up; counted from the last sign of
    /// progress. Whether the first connection is tried again as well, `retriesFirstConnection` says.
    public var retryFor = 60.0

    /// Whether the first connection, too, is tried again for `retryFor`, as for a server that is still starting; counted from the
    /// first try. Otherwise it is tried once, so that a wrong address is told at once.
    public var retriesFirstConnection = false

    /// How often an upload is sent again, at most, when the server's result says that it may help, such as `busy`.
    public var retries = 4

    /// Bytes a second that all connections together send, or receive of what is stored, encryption not counted; nothing for as many as there can be. Less
    /// than `leastBandwidth` counts as that.
    public var bandwidth: UInt64?

    /// Below this, a server would take one of many connections for dead: 16 of them share 16 KiB, and by default servers
    /// want 1 KiB a second of each.
    public static let leastBandwidth: UInt64 = 16 << 10

    /// What is sent or fetched of files that are named and of directories.
    public var selection = Selection()

    /// Bytes of memory that what a server lists may take at once.
    package var listMemory = ListBudget.mostBytes

    /// Counts content on its way, for whoever shows how fast it is.
    package var traffic: Traffic?

    /// How lanes share long files, in place of what the line to the server asks for; for tests without such a line.
    package var sharing: PartSharing?

    /// Seconds for connecting and the handshake together.
    public var handshakeTimeout = 10.0

    /// Seconds after which a server that says nothing is given up.
    public var silenceTimeout = 20.0

    /// Seconds without any part of an answer after which the client gives up a server that still gives signs of life. `retryFor`
    /// applies if it is longer. A server sends no part of its answer while it copies a large file.
    public var answerTimeout = 1800.0

    /// The program and its version, as told to the server.
    public var agent = "transfer-client"

    /// Whether each report has to have a signed receipt. A push to a server that gives none fails before anything is
    /// sent.
    public var wantsReceipts = false

    /// Whether files are counted ahead, for progress in per cent. Costs a push one more look at every directory; a pull lists
    /// folders before it fetches from them.
    public var countsAhead = false

    /// Whether the files of a directory may be asked about together, before any of them travels: one question for all, so a large
    /// tree that is on the other side takes less than half the time. What is there comes as one `known` event then, of a push and of
    /// a pull, and nobody is told the files' digests. Without meaning where there are receipts or recipients.
    public var asksByFolder = false

    /// Whether a push gives a file or link in a directory its name back that `TransferClient.removeSources` has left under a name of its
    /// own, because its process was killed, when that is a minute old. It is sent then; otherwise it is reported as `sourceSkipped`.
    public var givesNamesBack = false

    /// The folder, owned by this user, that holds the key for the temporary names that `TransferClient.removeSources` gives. With the key, a
    /// client recognizes the files that a killed process of this user has left under such names. The folder is made when it is missing.
    /// If it is nil, the key lasts as long as the client, and no file of an earlier process gets its name back.
    public var removalKeys: String?

    /// The defaults.
    public init() {}

    /// Lanes that can be asked for. More only cost the server memory: eight such pushes take all connections that a server has for one
    /// address by default.
    public static let mostLanes = 32

    /// Cores of this machine.
    static let cores = max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))
}

extension ClientConfiguration {
    private static let wording = KeyPair.Wording(
        name: "The client's key", harm: "push in its name",
        remedy:
            "If nobody has, run 'chmod 600' on it; otherwise remove it, and have it removed from the servers that know it.",
        repair: "Put the file back from a backup, or remove it, and another is made.")

    /// Shows servers the key pair in a file: that is who this client is. The program `transfer` keeps that of its user in
    /// `~/.config/transfer/key.pem`.
    ///
    /// - Parameter path: of the file, PEM and mode 0600; it is made, in a folder that is there, where there is none.
    /// - Returns: the public half, for a server's `authorized_keys`.
    /// - Throws: `TransferFailure` when the file is no key, when others can read it, or when it cannot be made.
    @discardableResult
    public mutating func showKey(in path: String) throws(TransferFailure) -> PublicKey {
        do throws(KeyPair.Fault) {
            let pair = try KeyPair.open(path, Self.wording).pair
            key = pair
            return pair.key
        } catch {
            throw TransferFailure(reason: .untrusted, message: error.message)
        }
    }
}

extension ClientConfiguration {
    /// Has this client seal for others, where `seals` says so, and open what was sealed for it. To be called behind `showKey`:
    /// what it seals is signed with that key.
    ///
    /// - Parameter folder: of the files `sealing.key`, which is made where there is none, and `known_people`, with the keys of
    ///   others as they were first seen, and of what is needed to go on with interrupted pushes. It has to be there.
    /// - Throws: `TransferFailure` when there is no key that is shown, or when the file is no key, can be read by others, or cannot be
    ///   made.
    public mutating func useSealing(in folder: String) throws(TransferFailure) {
        guard let key else { throw .noSealingKey }
        do throws(KeyPair.Fault) {
            let sealing = try SealingKey.open("\(folder)/\(SealingKey.fileName)").key
            self.sealing = SealingIdentity(
                key: key, sealing: sealing, people: KnownPeople(path: "\(folder)/\(KnownPeople.fileName)"))
        } catch {
            throw TransferFailure(reason: .untrusted, message: error.message)
        }
    }
}

extension ClientConfiguration {
    /// What the governor of a push decides between.
    var compressionMode: CompressionGovernor.Mode {
        switch compression {
        case .none: .none
        case .zlib: .fixed(CompressionMethod(.zlib, level: compressionLevel))
        case .zstd: .fixed(CompressionMethod(.zstd, level: compressionLevel))
        case .auto: .auto(zlibLevel: compressionLevel)
        }
    }

    /// How the server may send content.
    var contentFeatures: Features { compressionFeatures.union(.holes) }

    private var compressionFeatures: Features {
        switch compression {
        case .none: []
        case .zlib: .zlib
        case .zstd: .zstd
        case .auto: [.zlib, .zstd]
        }
    }
}

extension ClientConfiguration {
    /// - Throws: `TransferFailure` for what cannot be met over HTTP, or would be read by others.
    func check(_ web: WebAddress) throws(TransferFailure) {
        var isEncrypted = false
        if case .tls = security { isEncrypted = true }
        guard isEncrypted == web.isSecure else {
            throw Self.unsupported(
                isEncrypted
                    ? "http:// has no encryption; use https://." : "https:// is encrypted; don't ask for plaintext.")
        }
        guard web.isSecure || web.credentials == nil else {
            throw TransferFailure(
                reason: .untrusted,
                message:
                    "A password is for encrypted connections only: otherwise who listens in could use it. Nothing was sent."
            )
        }
        guard recipients.isEmpty, !seals, classic == nil else {
            throw Self.unsupported("Over HTTP nothing can be sent to somebody, and no classic framing is spoken.")
        }
        guard !wantsReceipts else { throw Self.unsupported("Over HTTP there are no receipts.") }
    }

    private static func unsupported(_ message: String) -> TransferFailure {
        TransferFailure(reason: .unsupported, message: "\(message) Nothing was sent.")
    }
}
