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
    init(_ content: any ReadableContent, _ digest: Digest?) throws(Failure) {
        let attributes = content.attributes
        let file = try Self.file(of: content)
        self.init(
            PictureKey(attributes.version, digest), .init(consume file), size: Int(clamping: attributes.size))
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
    private static let mostBytes: UInt64 = 1 << 30

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
        let settings = Settings(
            cachePath: "\(state.path)/\(PictureCache.fileName)",
            cacheSize: Int64(min(mostBytes, sizeOfDisk(at: state.path) / 100)), decoders: configuration.decoders)
        let isEager = configuration.thumbnails == .on
        do throws(SystemError) {
            let gallery = try Gallery(settings, helper: helper, background: isEager ? committed : nil) {
                log.write([.decodingEnded])
            }
            if isEager { committed.wakes(gallery) }
            return gallery
        } catch {
            log.write([.decodingFailed(error)])
            return nil
        }
    }

    private static func sizeOfDisk(at path: String) -> UInt64 {
        var status = statvfs()
        guard statvfs(path, &status) == 0 else { return 0 }
        return UInt64(status.f_blocks).multipliedReportingOverflow(by: UInt64(status.f_frsize)).partialValue
    }
}

extension LogEvent {
    fileprivate static var decodingEnded: LogEvent {
        LogEvent(
            .warning, "decodingEnded",
            "the process that starts decoders of pictures has ended: there are no new thumbnails until the server is started again")
    }

    fileprivate static func decodingFailed(_ error: SystemError) -> LogEvent {
        LogEvent(
            .warning, "decodingFailed", "no thumbnails can be made: the process for it does not start (\(error))",
            [("reason", .string(error.description))])
    }
}
