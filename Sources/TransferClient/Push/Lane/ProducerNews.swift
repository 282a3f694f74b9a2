import TransferIO

/// What the producer of a lane may be waiting for, told by whatever happens on the lane: it is asked again then.
///
/// A class, and no closure that finds the session: that one took an allocation for each upload. Touched on the run's loop only.
final class ProducerNews {
    /// What the producer has said last.
    var producing = LaneProducer.Next.more

    /// Fired when it may be worth asking it again.
    let mayProduce = Signal()

    /// Counts what the producer may have been waiting for.
    private(set) var count = 0

    /// Something happened that it may be waiting for.
    func tell() {
        count += 1
        producing = .more
        mayProduce.fire()
    }
}
