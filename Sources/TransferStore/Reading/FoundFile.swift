import TransferModel
import TransferPorts
import TransferSystem

/// An open file that has the name and the content of an upload already.
final class FoundFile: SyncableFile, Sendable {
    private let descriptor: Descriptor

    /// From before its content was looked at, so that a change during that look is noticed later.
    let version: ContentVersion?

    var number: Int32 { descriptor.number }

    init(_ descriptor: consuming Descriptor, on disk: Disk) {
        version = disk.version(descriptor.number)
        self.descriptor = descriptor
    }
}
