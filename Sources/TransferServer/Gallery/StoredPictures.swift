import Glibc
import TransferGallery
import TransferIntake
import TransferModel
import TransferPorts
import TransferSystem

extension StoredPicture {
    /// - Returns: nil if the content is not in a file of this machine, or if no further file can be opened.
    init?(_ content: any ReadableContent, _ digest: Digest?) {
        let attributes = content.attributes
        guard let descriptor = content.descriptor, let size = Int(exactly: attributes.size) else { return nil }
        let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 3)
        guard copy >= 0 else { return nil }
        self.init(PictureKey(attributes.version, digest), .init(Descriptor(copy)), size: size)
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
            let gallery = try Gallery(settings, helper: helper, background: isEager ? committed : nil)
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
    fileprivate static func decodingFailed(_ error: SystemError) -> LogEvent {
        LogEvent(
            .warning, "decodingFailed", "no thumbnails can be made: the process for it does not start (\(error))",
            [("reason", .string(error.description))])
    }
}
