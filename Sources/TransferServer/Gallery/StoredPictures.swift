import Glibc
import TransferGallery
import TransferIntake
import TransferModel
import TransferPorts
import TransferSystem

extension StoredPicture {
    /// Most bytes of content that is copied into memory, because it is not in a file of this machine.
    private static let mostCopied: UInt64 = 64 << 20

    /// - Throws: why the content cannot be handed to a decoder.
    init(_ content: any ReadableContent, _ key: PictureKey) throws(Failure) {
        let file = try Self.file(of: content)
        self.init(key, .init(consume file), size: Int(clamping: content.attributes.size))
        // The key is that of the content when it was opened.
        guard content.isUnchanged else { throw Failure(.fileChanged, "The picture changed while it was read.") }
    }

    private static func file(of content: any ReadableContent) throws(Failure) -> Descriptor {
        guard let descriptor = content.fileDescriptor else { return try copy(of: content) }
        do throws(SystemError) {
            return Descriptor(try system("fcntl") { fcntl(descriptor, F_DUPFD_CLOEXEC, 3) })
        } catch {
            throw .notDecodable(error)
        }
    }

    private static func copy(of content: any ReadableContent) throws(Failure) -> Descriptor {
        let size = content.attributes.size
        guard size <= mostCopied else { throw .notDecodable(SystemError(errno: EFBIG, call: "memfd_create")) }
        let copy: Descriptor
        do throws(SystemError) { copy = try fixedMemoryFile(size: Int(size)) } catch { throw .notDecodable(error) }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 16, alignment: 1)
        defer { buffer.deallocate() }
        var offset: UInt64 = 0
        while offset < size {
            let count = try content.read(into: buffer, at: offset)
            guard count > 0 else { throw Failure(.fileChanged, "The picture changed while it was read.") }
            let piece = UnsafeRawBufferPointer(rebasing: buffer[..<count])
            do throws(SystemError) { try writeAll(piece, to: copy.number) } catch { throw .notDecodable(error) }
            offset += UInt64(count)
        }
        return copy
    }
}

extension Failure {
    fileprivate static func notDecodable(_ error: SystemError) -> Failure {
        Failure(.busy, "The picture cannot be decoded now: \(error.reason).")
    }
}

extension Gallery {
    /// Bytes of all thumbnails: at most this, and a hundredth of the disk.
    static let mostBytes: UInt64 = 1 << 30

    /// Decoders that run at once, at most.
    static let mostDecoders = 4

    /// Bytes of memory for each decoder, twice what one may take.
    private static let memoryOfDecoder: UInt64 = 1 << 30

    /// The number of decoders for a machine: half of the processors are for everything else.
    package static func decoders(processors: Int) -> Int {
        let pages = UInt64(max(0, sysconf(Int32(_SC_PHYS_PAGES))))
        var memory = pages.multipliedReportingOverflow(by: UInt64(max(0, sysconf(Int32(_SC_PAGESIZE))))).partialValue
        // The limit of a container (cgroups(7), version 2); other systems have no such file, or `max` in it.
        if let file = try? OwnFile(reading: "/sys/fs/cgroup/memory.max", atMost: 64),
            let limit = UInt64(String(decoding: file.content.prefix { $0 > 0x20 }, as: UTF8.self))
        {
            memory = min(memory, limit)
        }
        return max(1, min(mostDecoders, processors / 2, Int(clamping: memory / memoryOfDecoder)))
    }

    /// Opens the gallery of a server. Without a helper, which the log tells, only thumbnails that were made before can be seen.
    ///
    /// - Returns: nil if the server makes no thumbnails.
    static func open(
        _ configuration: ServerConfiguration, _ state: StateFolder, _ committed: CommittedPictures, _ log: Log,
        _ startDecoding: () throws(SystemError) -> DescriptorChannel
    ) -> Gallery? {
        guard configuration.thumbnails != .off else { return nil }
        var helper: DescriptorChannel?
        do throws(SystemError) { helper = try startDecoding() } catch { log.write([.decodingFailed(error)]) }
        let (path, least) = (state.path, configuration.space.minimumFree ?? 0)
        let size = disk(at: path, \.f_blocks) / 100
        let settings = Settings(
            cachePath: "\(path)/\(PictureCache.fileName)", cacheSize: Int64(min(mostBytes, size)),
            decoders: configuration.decoders
        ) {
            // What is stored is more important than what can be made again.
            disk(at: path, \.f_bavail) > max(least, size)
        }
        let isEager = configuration.thumbnails == .on
        do throws(SystemError) {
            let gallery = try Gallery(settings, helper: helper, background: isEager ? committed : nil) {
                log.write([LogEvent($0)])
            }
            if isEager { committed.wakes(gallery) }
            return gallery
        } catch {
            log.write([.decodingFailed(error)])
            return nil
        }
    }

    /// Bytes of blocks of the disk that a path is on; 0 if it cannot be examined.
    private static func disk(at path: String, _ blocks: KeyPath<statvfs, UInt>) -> UInt64 {
        var status = statvfs()
        guard statvfs(path, &status) == 0 else { return 0 }
        let (bytes, overflow) = UInt64(status[keyPath: blocks]).multipliedReportingOverflow(by: UInt64(status.f_frsize))
        return overflow ? .max : bytes
    }
}

extension LogEvent {
    fileprivate init(_ problem: Gallery.Problem) {
        switch problem {
        case .helperEnded:
            self.init(
                .warning, "decodingEnded",
                "the process that starts decoders of pictures has ended: there are no new thumbnails until the server is started again"
            )
        case .notStarted:
            self.init(
                .warning, "decodingFailed",
                "pictures cannot be decoded: the system does not start or confine the process for it; thumbnails need seccomp"
            )
        }
    }

    fileprivate static func decodingFailed(_ error: SystemError) -> LogEvent {
        LogEvent(
            .warning, "decodingFailed", "no thumbnails can be made: the process for it does not start (\(error))",
            [("reason", .string(error.description))])
    }
}

/// A stored file that a client asks about, as the gallery knows it.
struct PictureQuestion {
    let content: any ReadableContent
    /// The digest that was acknowledged for this content; nil if none is known.
    let digest: Digest?
    let key: PictureKey

    /// - Throws: also `contentLost`, for a file whose content is known to differ from what was acknowledged.
    init(at place: RelativePath, _ files: ConnectionFiles) throws(Failure) {
        content = try files.openSound(place)
        digest = files.digest(of: content.attributes, at: place)
        key = PictureKey(content.attributes.version, digest, in: place.parent)
    }

    /// Orders a thumbnail.
    ///
    /// - Parameter client: whose turn the decoder's work costs.
    /// - Throws: `busy` if too many pictures wait.
    func order(_ side: ThumbnailSide, _ gallery: Gallery, for client: AccountHolder?) throws(Failure) -> ThumbnailTicket
    {
        // Text: clients with the same hash would share their turns, and nothing else.
        try gallery.order(try StoredPicture(content, key), side, for: client.hashValue)
    }

    /// What was found out before about the picture and its pixels; nil if it still has to be decoded.
    func verdict(_ gallery: Gallery) -> PictureReport? {
        if let failed = gallery.find(key, .small), failed.refusal != nil { return failed }
        guard let known = gallery.find(key, nil), known.summary?.isDecoded != nil else { return nil }
        return known
    }
}
