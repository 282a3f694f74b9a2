import TransferModel
import TransferPorts
import TransferSystem

/// An open file that already has the name and content of an upload.
final class FoundFile: SyncableFile, Sendable {
    private let descriptor: Descriptor

    /// The version before the content was read, so that a change during the reading is noticed later.
    let version: ContentVersion?

    var number: Int32 { descriptor.number }

    init(_ descriptor: consuming Descriptor, on disk: Disk) {
        version = disk.version(descriptor.number)
        self.descriptor = descriptor
    }
}
