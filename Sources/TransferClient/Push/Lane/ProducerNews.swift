import TransferIO

/// Counts the events that the producer of a lane may wait for, so that it is asked again after them.
///
/// It is a class instead of a closure over the session, because the closure cost an allocation for each upload. Used on
/// the run's loop only.
final class ProducerNews {
    /// The latest answer of the producer.
    var producing = LaneProducer.Next.more

    /// Fired when the producer should be asked again.
    let mayProduce = Signal()

    /// The number of events that the producer may have waited for.
    private(set) var count = 0

    /// Notes an event that the producer may wait for.
    func tell() {
        count += 1
        producing = .more
        mayProduce.fire()
    }
}
