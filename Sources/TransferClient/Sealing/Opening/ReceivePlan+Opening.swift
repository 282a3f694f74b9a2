import TransferModel
import TransferSealing
import TransferPorts
import TransferStore

/// Names and files of sealed deliveries, whose names and content the server could not read.
extension ReceivePlan {
    /// The path for a delivery here, unless the user chooses another one.
    func name(of delivery: Delivery) -> String {
        guard let note = delivery.opened else { return delivery.name }
        guard !options.opens else { return note.name }
        let sealed = note.name + ContentSeal.suffix
        // A path of the greatest length has no room for the suffix.
        return (try? RelativePath(sealed)) == nil ? delivery.name : sealed
    }

    /// Describes a delivery that is to be fetched.
    ///
    /// - Parameters:
    ///   - target: its path here.
    ///   - isChosen: whether the user has chosen that path, whatever the delivery is called.
    func file(_ delivery: Delivery, _ target: RelativePath, isChosen: Bool) -> PullFile {
        let seal = options.opens ? ContentSeal(delivery, context.configuration.sealing) : nil
        let file = PullFile(delivery, target: target, seal)
        file.losesExecution = !options.takesExecution
        guard let seal else { return file }
        if seal.note == nil, !isChosen, let name = ContentSeal.unsealedName(target.string),
            let path = try? RelativePath(name)
        {
            file.openedTarget = path
        }
        return file
    }

    /// Whether a received file can have the content of a delivery, as far as their sizes tell. If deliveries are
    /// opened, a sealed one that was stored as it came does not count, because no attempt was made to open it. A file
    /// that was opened for another note, or for none, does not count: it was not compared with this note.
    func mayBe(_ file: ReceivedFile, _ delivery: Delivery) -> Bool {
        guard file.note == (options.opens ? delivery.noteDigest : nil) else { return false }
        guard options.opens else { return !file.isOpened }
        guard !delivery.isSealed else { return file.isOpened }
        return !file.isOpened || delivery.isCalledSealed
    }
}

extension ReceivedFile {
    /// Whether the file is opened content; that is always shorter than the sealed file.
    var isOpened: Bool { travelled != version.size }
}
